-- The run of a child pipeline is announced by one step of one execution. Without this an agent could announce the run of another execution,
-- and report steps for it. Of rows from before, the first announcement counts.
update execution_step later set child_pipeline_id = null, child_pipeline_name = null
where child_pipeline_id is not null and exists (
  select from execution_step earlier
  where earlier.account_id = later.account_id and earlier.child_pipeline_id = later.child_pipeline_id and earlier.ordinal < later.ordinal);

-- Serves: the execution that a child run belongs to.
create unique index execution_step_announces_once on execution_step (account_id, child_pipeline_id) where child_pipeline_id is not null;
