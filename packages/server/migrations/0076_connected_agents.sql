-- Serves: whether an agent of an account has ever connected, before an environment is deleted.
create index agent_connected on agent (account_id) where status <> 'pending';
