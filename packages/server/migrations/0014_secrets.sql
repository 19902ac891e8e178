-- Work of no project (a secret for a vault), which only the holder of its key may claim, and which is worth nothing after its time.
alter table work alter column project_id drop not null;
alter table work alter column environment_name drop not null;
alter table work add column key_id text collate "C";
alter table work add column claimable_until timestamptz;

-- The answer to a request that waits for work is not known yet: the record names the work, and until when the request waits for it.
alter table idempotency_record alter column status drop not null;
alter table idempotency_record alter column headers drop not null;
alter table idempotency_record add column pending_work_id uuid;
alter table idempotency_record add column pending_until timestamptz;
alter table idempotency_record add constraint idempotency_record_answered_or_pending
  check ((status is null) = (pending_work_id is not null));

-- The authority that issues the agents' certificates; all accounts and servers share it. Its key is sealed by the master key.
create table certificate_authority (
  authority_id uuid not null,
  certificate text not null,
  private_key_sealed bytea not null,
  created_at timestamptz not null,
  not_after timestamptz not null,
  constraint certificate_authority_key primary key (authority_id)
);

create table agent_certificate (
  account_id uuid not null,
  agent_id uuid not null,
  -- SHA-256 of the certificate, base64url: the kid of what is sealed to it.
  key_id text collate "C" not null,
  instance_id uuid not null,
  authority_id uuid not null,
  certificate text not null,
  key_type text not null,
  issued_at timestamptz not null,
  not_after timestamptz not null,
  constraint agent_certificate_key primary key (account_id, agent_id, key_id),
  constraint agent_certificate_of_agent foreign key (account_id, agent_id) references agent (account_id, agent_id) on delete cascade,
  constraint agent_certificate_by_authority foreign key (authority_id) references certificate_authority,
  constraint agent_certificate_key_type_known check (key_type in ('EC', 'RSA'))
);

-- One value on its way to a vault; the plain value is never here, and the sealed one only until the work ends.
create table secret_write (
  account_id uuid not null,
  -- Also the id of its work.
  write_id uuid not null,
  agent_id uuid not null,
  key_id text collate "C" not null,
  jti text collate "C" not null,
  provider text,
  vault_name text,
  name text not null,
  secret_key text,
  type text not null,
  sealed_value text,
  sealed_sha256 text not null,
  status text not null,
  message text,
  receipt text,
  created_at timestamptz not null,
  constraint secret_write_once_written primary key (account_id, write_id),
  constraint secret_write_of_agent foreign key (account_id, agent_id) references agent (account_id, agent_id) on delete cascade,
  -- A sealed value is taken once.
  constraint secret_write_jti_once unique (account_id, agent_id, jti),
  constraint secret_write_status_known check (status in ('PENDING', 'WRITTEN', 'FAILED')),
  constraint secret_write_wiped check ((status = 'PENDING') = (sealed_value is not null))
);

-- Serves: the removal of old ones, which come in the order of their making.
create index secret_write_by_age on secret_write using brin (created_at);
