-- Users that come into being when a person accepts.
create table invitation (
  account_id uuid not null,
  invitation_id uuid not null,
  user_name text not null,
  user_name_key text not null,
  display_name text,
  -- Null: the link is not sent by mail.
  email text,
  secret_digest bytea not null,
  created_by uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint invitation_key primary key (account_id, invitation_id),
  constraint invitation_secret_taken unique (secret_digest),
  constraint invitation_taken unique (account_id, user_name_key),
  constraint invitation_of_account foreign key (account_id) references account on delete cascade
);

create table invitation_group (
  account_id uuid not null,
  invitation_id uuid not null,
  group_id uuid not null,
  constraint invitation_group_key primary key (account_id, invitation_id, group_id),
  constraint invitation_group_of_invitation foreign key (account_id, invitation_id) references invitation on delete cascade,
  constraint invitation_group_of_group foreign key (account_id, group_id) references directory_group on delete cascade
);
create index invitation_group_by_group on invitation_group (account_id, group_id);

create table invitation_role (
  account_id uuid not null,
  invitation_id uuid not null,
  project_id uuid not null,
  environment_name text,
  role text not null,
  constraint invitation_role_once unique nulls not distinct (account_id, invitation_id, project_id, environment_name, role),
  constraint invitation_role_of_invitation foreign key (account_id, invitation_id) references invitation on delete cascade,
  constraint invitation_role_in_project foreign key (account_id, project_id) references project on delete cascade,
  constraint invitation_role_in_environment foreign key (account_id, project_id, environment_name)
    references environment on delete cascade
);
-- To refuse the deletion of a role that an invitation names.
create index invitation_role_by_role on invitation_role (account_id, role);
create index invitation_role_by_project on invitation_role (account_id, project_id, environment_name);

alter table alert_mail add column invitation_id uuid;
alter table alert_mail drop constraint alert_mail_kind;
alter table alert_mail add constraint alert_mail_kind
  check (num_nonnulls(project_id, invitation_id) + is_confirmation::integer = 1);
alter table alert_mail add constraint alert_mail_of_invitation
  foreign key (account_id, invitation_id) references invitation on delete cascade;
create index alert_mail_by_invitation on alert_mail (account_id, invitation_id) where invitation_id is not null;
