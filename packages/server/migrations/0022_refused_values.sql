-- REFUSED: the agent could not open the sealed value, or it lacks members of its type. FAILED stays what the vault or the agent failed at.
alter table secret_write drop constraint secret_write_status_known;
alter table secret_write add constraint secret_write_status_known
  check (status in ('PENDING', 'WRITTEN', 'FAILED', 'REFUSED'));
