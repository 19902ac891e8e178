-- Git: whose push a commit is, migrations that servers leave, and tokens that are being renewed.

-- Who pushed to a hosted branch since the rule was looked at: {commit: principal}. The publication of a commit
-- has the rights of the principal that pushed this commit, in whatever order two pushes were recorded.
alter table delivery_rule add column pushers jsonb;
-- The commit of an earlier push is not known, so that nothing is published with these rights.
update delivery_rule set pushers = jsonb_build_object('', pushed_by) where pushed_by is not null;
alter table delivery_rule drop column pushed_by;

-- What is wrong with the pipelines of the version that was published last.
alter table delivery_rule add column findings text;

-- Claims that were not given back: the server stopped without a word, or lost the database.
alter table repository_migration add column attempts integer not null default 0;

-- A server renews the token until then, and no other one may rotate it.
alter table repository add column renewal_until timestamptz;
-- Why the token could not be renewed.
alter table repository add column credential_problem text;
