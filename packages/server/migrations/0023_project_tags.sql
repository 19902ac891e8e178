create table project_tag (
  account_id uuid not null,
  project_id uuid not null,
  name text collate "C" not null,
  project_tag_id uuid not null,
  value text not null,
  version bigint not null,
  created_at timestamptz not null,
  -- The key is also the order of the list.
  constraint project_tag_name_taken primary key (account_id, project_id, name),
  constraint project_tag_of_project foreign key (account_id, project_id) references project on delete cascade
);

-- Finds the projects with a tag.
create index project_tag_found on project_tag (account_id, name, value);
