-- What a caller may, as before, with one look into the grants, and none into the project of one who has a grant in it: a grant refers
-- to its project. The bound at its end keeps PostgreSQL from merging it into the statement that asks: there the rule would be evaluated
-- as often as the standing is named, three times at the entry of a write.
create or replace function rights(
  for_account uuid, for_credential uuid, in_project uuid, in_environment text,
  account_roles text[], project_roles text[], environment_roles text[], at timestamptz
) returns table (standing text, account_role text)
language sql stable as $$
  select
    case
      when actor.account_role is null then 'inactive'
      when in_project is null then
        case when actor.account_role = any (account_roles) then 'permitted' else 'forbidden' end
      when actor.account_role = any (account_roles) or actor.account_role = 'SUPER_ADMIN' then
        case
          when not exists (select from project where project.account_id = for_account and project.project_id = in_project) then 'unknown'
          when actor.account_role = any (account_roles) then 'permitted'
          else 'forbidden'
        end
      else (
        select case max(
          case
            when g.environment_name is null then case when g.role = any (project_roles) then 2 else 1 end
            when g.role = any (environment_roles) and (in_environment is null or g.environment_name = in_environment) then 2
            else 1
          end) when 2 then 'permitted' when 1 then 'forbidden' else 'unknown' end
        from role_grant g
        where g.account_id = for_account and g.credential_id = for_credential and g.project_id = in_project
      )
    end,
    actor.account_role
  from (select) as one
  left join credential actor
    on actor.account_id = for_account and actor.credential_id = for_credential
    and actor.revoked_at is null and (actor.expires_at is null or actor.expires_at > at)
  offset 0
$$;
