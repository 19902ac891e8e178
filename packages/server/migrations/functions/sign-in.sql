-- A deactivated user is signed out for good: it signs in again after it is activated.
create or replace function end_sign_ins() returns trigger
language plpgsql as $$
begin
  delete from sign_in_session where account_id = new.account_id and user_id = new.user_id;
  delete from personal_token where account_id = new.account_id and user_id = new.user_id;
  delete from sign_in_link where account_id = new.account_id and user_id = new.user_id;
  return null;
end $$;

create or replace trigger directory_user_deactivated after update of active on directory_user
for each row when (old.active and not new.active) execute function end_sign_ins();
