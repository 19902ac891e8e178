-- OpenID Connect issuers of an account, and the identity of each of its users at an issuer.
create table identity_issuer (
  account_id uuid not null,
  identity_issuer_id uuid not null,
  name text not null,
  issuer text not null,
  client_id text not null,
  -- Null: a public client.
  client_secret_sealed bytea,
  scopes text[] not null,
  subject_claim text not null,
  user_claim text not null,
  user_attribute text not null,
  domains text[] not null,
  creates_users boolean not null,
  enabled boolean not null,
  version bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint identity_issuer_key primary key (account_id, identity_issuer_id),
  constraint identity_issuer_id_taken unique (identity_issuer_id),
  constraint identity_issuer_name_taken unique (account_id, name),
  constraint identity_issuer_taken unique (account_id, issuer),
  constraint identity_issuer_attribute_known check (user_attribute in ('userName', 'externalId')),
  constraint identity_issuer_of_account foreign key (account_id) references account on delete cascade
);

-- The subject is forgotten with its issuer.
create table user_identity (
  account_id uuid not null,
  identity_issuer_id uuid not null,
  subject text not null,
  user_id uuid not null,
  created_at timestamptz not null,
  constraint user_identity_key primary key (account_id, identity_issuer_id, subject),
  constraint user_identity_of_user_once unique (account_id, user_id, identity_issuer_id),
  constraint user_identity_of_issuer foreign key (account_id, identity_issuer_id)
    references identity_issuer on delete cascade,
  constraint user_identity_of_user foreign key (account_id, user_id) references directory_user on delete cascade
);

create table sign_in_session (
  account_id uuid not null,
  session_id uuid not null,
  user_id uuid not null,
  -- Of the cookie's value.
  secret_digest bytea not null,
  method text not null,
  identity_issuer_id uuid,
  -- `sid` of the ID token.
  issuer_session text,
  address text not null,
  user_agent text not null,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  idle_until timestamptz not null,
  expires_at timestamptz not null,
  constraint sign_in_session_key primary key (account_id, session_id),
  constraint sign_in_session_secret_taken unique (secret_digest),
  constraint sign_in_session_method_known check (method in ('LINK', 'ISSUER')),
  constraint sign_in_session_of_issuer foreign key (account_id, identity_issuer_id)
    references identity_issuer on delete cascade,
  constraint sign_in_session_of_user foreign key (account_id, user_id) references directory_user on delete cascade
);
-- Lists the sessions of a user.
create index sign_in_session_by_user on sign_in_session (account_id, user_id, session_id desc);
-- Ends the sessions of an issuer, and of one person there.
create index sign_in_session_by_issuer on sign_in_session (account_id, identity_issuer_id)
  where identity_issuer_id is not null;

-- One for each user: a new link replaces the earlier one.
create table sign_in_link (
  account_id uuid not null,
  -- Null: the administrator of the installation, who is created when the link is used.
  user_id uuid,
  secret_digest bytea not null,
  -- For the browser of this machine only.
  of_loopback boolean not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint sign_in_link_key primary key (secret_digest),
  constraint sign_in_link_of_user_once unique nulls not distinct (account_id, user_id),
  constraint sign_in_link_of_account foreign key (account_id) references account on delete cascade,
  constraint sign_in_link_of_user foreign key (account_id, user_id) references directory_user on delete cascade
);
