/** Scripts that begin with long comments, such as a licence, run as others do. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { renderOrchestration, start } from '../run/pipeline-fixture.ts';

describe('a script with comments at its head', () => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await createFixture();
  });
  afterEach(() => fixture.dispose());

  for (const lines of [40, 5_000])
    it(`runs with ${lines} of them`, async () => {
      const head = '/* one line of a long comment */\n'.repeat(lines);
      await fixture.publish({
        'main.orch.yaml': renderOrchestration({
          Start: start('Fill'),
          Fill: {
            type: 'sql-script',
            parameters: {
              sqlScript: `${head}CREATE TABLE t (a INTEGER);\n${head}INSERT INTO t VALUES (1), (2)`,
            },
          },
        }),
      });
      assert.deepEqual(await fixture.run('main'), { status: 'SUCCESS' });
      assert.deepEqual(await fixture.rows('SELECT count(*) FROM t'), [[2]]);
    });
});
