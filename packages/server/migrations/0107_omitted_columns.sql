-- Uses of columns of the run that were more than the graph keeps.
alter table pipeline_lineage add column omitted_columns integer not null default 0;
-- When the step that wrote the dataset ended, if its agent said so; else the run.
alter table dataset_use add column written_at timestamptz;
