-- Roles that an account defines from the permission table. A grant names a role by its word, as it names a built-in one.
create table custom_role (
  account_id uuid not null,
  name text not null,
  description text,
  level text not null,
  -- The complete list, with those that every role of the level has.
  permissions text[] not null,
  version bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint custom_role_name_taken primary key (account_id, name),
  constraint custom_role_level_known check (level in ('PROJECT', 'ENVIRONMENT')),
  constraint custom_role_name_form check (name ~ '^[A-Z][A-Z0-9_]{0,49}$'),
  constraint custom_role_name_free check (name not in (
    'SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN', 'MEMBER', 'DIRECTORY', 'OWNER', 'CONTRIBUTOR', 'OPERATOR', 'VIEWER')),
  constraint custom_role_of_account foreign key (account_id) references account on delete cascade
);

alter table directory_role drop constraint directory_role_known;
alter table directory_role add constraint directory_role_known check (case
  when environment_name is not null then
    project_id is not null and role not in ('SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN', 'MEMBER', 'DIRECTORY')
  when project_id is not null then role not in ('SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN', 'MEMBER', 'DIRECTORY', 'OPERATOR')
  else role in ('SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN', 'MEMBER')
end);
alter table role_grant drop constraint role_grant_role_known;
alter table role_grant add constraint role_grant_role_known check (
  role not in ('SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN', 'MEMBER', 'DIRECTORY'));
-- To refuse the deletion of a role that is granted.
create index directory_role_of_places on directory_role (account_id, role, group_id) where project_id is not null;
create index role_grant_by_role on role_grant (account_id, role);
