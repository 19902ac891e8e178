-- Uses of columns of the run that were more than the graph keeps.
alter table pipeline_lineage add column omitted_columns integer not null default 0;
