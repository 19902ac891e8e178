import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

// PostgreSQL has room for some 6,400 locks at 100 connections, so more would keep the project for ever.
test('a project is deleted without a lock for each of its environments, which agents still learn of', async () => {
  const { projectId } = await (await server.account()).project();
  await server.database.query(
    `insert into environment select (jsonb_populate_record(e, jsonb_build_object('name', 'many' || n))).*
     from environment e cross join generate_series(1, 100) n where e.project_id = $1 and e.name = 'dev'`,
    [projectId],
  );
  await server.database.query(
    `do $$ declare locks integer; begin
       delete from project where project_id = '${projectId}';
       select count(*) into locks from pg_locks where locktype = 'advisory' and pid = pg_backend_pid();
       if locks > 5 then raise 'the deletion holds % locks', locks; end if;
     end $$`,
  );
  const deleted = await server.database.query('select from deleted_environment where project_id = $1', [
    projectId,
  ]);
  assert.equal(deleted.length, 102);
});
