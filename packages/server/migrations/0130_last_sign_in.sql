-- When the user signed in last: sessions are removed when they end.
alter table directory_user add column last_signed_in_at timestamptz;

-- Serves: the review of access, which lists credentials by name.
create index credential_by_name on credential (account_id, name, credential_id) where revoked_at is null;
