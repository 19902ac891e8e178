-- Ends a transaction with the SQLSTATE, so that what is already queued behind in the pipeline does nothing.
create or replace function refuse(sqlstate_told text) returns text
language plpgsql volatile as $$
begin
  raise exception using errcode = sqlstate_told, message = 'refused';
end $$;

-- Ends a transaction as the breach of a constraint would that no table can have.
create or replace function breach(constraint_told text) returns text
language plpgsql volatile as $$
begin
  raise exception using errcode = 'HG100', message = 'refused', constraint = constraint_told;
end $$;
