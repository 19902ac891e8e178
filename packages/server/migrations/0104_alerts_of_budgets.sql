-- An alert about the budget of a project has neither.
alter table alert alter column environment_name drop not null, alter column pipeline_name drop not null;
