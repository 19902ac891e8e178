-- Adding a successful run to the graph is work that servers hold, like that of 0091. Its id; null after that.
alter table lineage_event add column work_id uuid;
update lineage_event set work_id = gen_random_uuid() where is_new;
insert into server_work (account_id, work_id, kind, due_at)
select account_id, work_id, 'lineage-graph', generated_at from lineage_event where is_new;
-- Serves: the run of a work.
create unique index lineage_event_work on lineage_event (account_id, work_id) where work_id is not null;
-- Serves: the runs of a pipeline of an environment that wait.
create index lineage_event_waiting on lineage_event (account_id, (record ->> 'environmentId'), md5(record ->> 'pipelineName'))
  where work_id is not null;
-- Only servers of the release before write and read it. The next release drops it, its index, and the trigger lineage_of_release_before.
alter table lineage_event alter column is_new set default false;
