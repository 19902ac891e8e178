-- The projects that may use an enterprise OAuth connection; callers who manage the connections may use all of them.
create table enterprise_oauth_project (
  account_id uuid not null,
  enterprise_oauth_id uuid not null,
  project_id uuid not null,
  constraint enterprise_oauth_project_key primary key (account_id, enterprise_oauth_id, project_id),
  constraint enterprise_oauth_project_of_oauth foreign key (account_id, enterprise_oauth_id) references enterprise_oauth on delete cascade,
  constraint enterprise_oauth_project_in_project foreign key (account_id, project_id) references project on delete cascade
);
-- Serves the deletion of a project.
create index enterprise_oauth_project_by_project on enterprise_oauth_project (account_id, project_id);

-- Repositories that use one, and migrations to one, go on.
insert into enterprise_oauth_project (account_id, enterprise_oauth_id, project_id)
select account_id, enterprise_oauth_id, project_id from repository where enterprise_oauth_id is not null
union
select m.account_id, m.enterprise_oauth_id, m.project_id from repository_migration m
join enterprise_oauth o on o.account_id = m.account_id and o.enterprise_oauth_id = m.enterprise_oauth_id
where m.status = 'IN_PROGRESS';
