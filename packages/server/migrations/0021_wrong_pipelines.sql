-- Pipeline files that an upload left out of its version since they cannot be read (docs/adr/0035): [{path, reason}]. They are no part of the
-- manifest, which two uploads may have in common.
alter table artifact_version add column ignored_pipelines jsonb not null default '[]';
alter table shared_pipeline_version add column ignored_pipelines jsonb not null default '[]';

-- A pipeline has one name in every answer: its path with its extension.
update pipeline_execution
set pipeline_name = pipeline_name || case pipeline_type when 'TRANSFORMATION' then '.tran.yaml' else '.orch.yaml' end
where pipeline_name !~ '\.(orch|tran)\.yaml$';
update execution_step
set child_pipeline_name = child_pipeline_name || case component_type when 'run-transformation' then '.tran.yaml' else '.orch.yaml' end
where child_pipeline_name !~ '\.(orch|tran)\.yaml$';
update work w set name = e.pipeline_name
from pipeline_execution e
where w.kind = 'pipeline-execution' and e.account_id = w.account_id and e.execution_id = w.work_id and w.name <> e.pipeline_name;
