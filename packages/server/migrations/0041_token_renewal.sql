-- Serves: the renewal of GitLab tokens that expire soon.
create index repository_token_renewal on repository (credential_expires_at)
  where provider = 'gitlab' and sealed_credential is not null;
