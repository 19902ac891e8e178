-- A certificate counts as long as the secret for whose token it was issued: a refreshed secret revokes those of before.
alter table agent_certificate add column secret_generation integer;
update agent_certificate c set secret_generation = a.secret_generation
from agent a where a.account_id = c.account_id and a.agent_id = c.agent_id;
alter table agent_certificate alter column secret_generation set not null;
