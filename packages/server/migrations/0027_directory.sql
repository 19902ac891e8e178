-- The directory: people, their groups, and the roles that groups give (decisions.md §3, E25, E26).
--
-- Terminology
--   key        a name in lower case: two names that differ only in case are the same
--   role       what a group gives to its active members, at the account, a project, or an environment

create table directory_user (
  account_id uuid not null,
  user_id uuid not null,
  user_name text not null,
  user_name_key text collate "C" not null,
  external_id text collate "C",
  display_name text,
  active boolean not null,
  -- The other attributes of RFC 7643, by their names in the schema; those of an extension below its URN.
  attributes jsonb not null,
  version bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint directory_user_key primary key (account_id, user_id),
  constraint directory_user_name_taken unique (account_id, user_name_key),
  constraint directory_user_of_account foreign key (account_id) references account on delete cascade
);

-- Serves: the filter `externalId eq`. Not unique: it is the client's own name for a user.
create index directory_user_by_external_id on directory_user (account_id, external_id) where external_id is not null;

create table directory_group (
  account_id uuid not null,
  group_id uuid not null,
  display_name text not null,
  display_name_key text collate "C" not null,
  external_id text collate "C",
  -- As written, the role in upper case. What it gives is in directory_role.
  role text,
  project_id uuid,
  project_name text,
  environment text,
  attributes jsonb not null,
  version bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint directory_group_key primary key (account_id, group_id),
  constraint directory_group_name_taken unique (account_id, display_name_key),
  constraint directory_group_of_account foreign key (account_id) references account on delete cascade
);

-- Serves: the filter `externalId eq`.
create index directory_group_by_external_id on directory_group (account_id, external_id) where external_id is not null;

-- What a group gives. Apart from the group, so that the deletion of a project or environment ends the role: a role whose place became
-- null would be one at a wider place.
create table directory_role (
  account_id uuid not null,
  group_id uuid not null,
  project_id uuid,
  environment_name text collate "C",
  role text not null,
  constraint directory_role_once unique nulls not distinct (account_id, group_id, project_id, environment_name, role),
  constraint directory_role_of_group foreign key (account_id, group_id) references directory_group on delete cascade,
  constraint directory_role_in_project foreign key (account_id, project_id) references project on delete cascade,
  constraint directory_role_in_environment foreign key (account_id, project_id, environment_name)
    references environment on delete cascade,
  constraint directory_role_known check (
    case
      when environment_name is not null then project_id is not null and role in ('OWNER', 'CONTRIBUTOR', 'OPERATOR', 'VIEWER')
      when project_id is not null then role in ('OWNER', 'CONTRIBUTOR', 'VIEWER')
      else role in ('SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN', 'MEMBER')
    end)
);

-- Serves: the deletion of a project and of an environment, and who has a role in a project.
create index directory_role_by_project on directory_role (account_id, project_id, environment_name);

create table directory_member (
  account_id uuid not null,
  group_id uuid not null,
  user_id uuid not null,
  constraint directory_member_key primary key (account_id, group_id, user_id),
  constraint directory_member_of_group foreign key (account_id, group_id) references directory_group on delete cascade,
  constraint directory_member_of_user foreign key (account_id, user_id) references directory_user on delete cascade
);

-- Serves: the groups of a user, and with them the user's rights.
create index directory_member_by_user on directory_member (account_id, user_id, group_id);

-- A group that gives a role is emptied only with ?confirm=true.
alter table account add column protect_role_groups boolean not null default false;
