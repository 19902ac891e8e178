-- Where secrets are kept, by a name of the project; never what they are.

create table secret_reference (
  account_id uuid not null,
  project_id uuid not null,
  name text collate "C" not null,
  type text not null,
  secret_name text not null,
  secret_key text,
  vault_name text,
  -- In the spelling that was written.
  vault_type text,
  provider text,
  -- The provider, or where none was given that of the vault: what the list is filtered by.
  provider_of_vault text,
  agent_type text,
  agent_id uuid,
  description text,
  created_at timestamptz not null,
  -- The key is also the order of the list.
  constraint secret_reference_taken primary key (account_id, project_id, name),
  constraint secret_reference_of_project foreign key (account_id, project_id) references project on delete cascade,
  constraint secret_reference_of_agent foreign key (account_id, agent_id) references agent (account_id, agent_id)
    on delete set null (agent_id)
);

-- Serves: the deletion of an agent.
create index secret_reference_by_agent on secret_reference (account_id, agent_id) where agent_id is not null;
