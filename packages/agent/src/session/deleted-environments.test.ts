/** The data of deleted environments, in a folder of an agent. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { DeletedEnvironments, DeletedEnvironmentsRequest } from '@headgate/contract';
import { createOpenConfinement, createTestDriver, errorLog } from '../../testing/warehouse.ts';
import { createFolders, type EnvironmentPlace, removeTree } from '../host/folders.ts';
import { ControlPlaneError } from './control-plane.ts';
import { keepRemoving, removeDeleted } from './deleted-environments.ts';

const root = mkdtempSync(join(tmpdir(), 'headgate-deleted-'));
const folders = createFolders(root);
const confinement = createOpenConfinement();
const driver = createTestDriver(folders, confinement);
after(async () => {
  await driver.close();
  await confinement.close();
  await removeTree(root);
});
const projectId = '11111111-1111-4111-8111-111111111111';
const placeOf = (environmentName: string, generation?: number): EnvironmentPlace => ({
  projectId,
  environmentName,
  generation,
});
const signal = new AbortController().signal;

function answering(deleted: DeletedEnvironments['deleted'], pages = 1) {
  const asked: DeletedEnvironmentsRequest[] = [];
  const deletedEnvironments = async (body: DeletedEnvironmentsRequest) => {
    asked.push(body);
    return { deleted, isCut: asked.length < pages };
  };
  return {
    asked,
    options: {
      controlPlane: { deletedEnvironments },
      folders,
      warehouses: { duckdb: driver },
      log: errorLog,
    },
  };
}

async function countTables(place: EnvironmentPlace): Promise<number> {
  const connection = await driver.connect(place);
  try {
    return (await connection.query('select table_name from information_schema.tables', 10)).rows.length;
  } finally {
    await connection.close();
  }
}

async function fill(place: EnvironmentPlace): Promise<void> {
  const connection = await driver.connect(place);
  await connection.execute('create table if not exists t (a integer)');
  await connection.close();
  mkdirSync(folders.files(place), { recursive: true });
  writeFileSync(join(folders.files(place), 'input.csv'), 'a\n1\n');
}

describe('the data of environments', () => {
  it('has the name that it had before there were generations, so that it is found after an upgrade', async () => {
    assert.equal(folders.database(placeOf('dev')), join(root, 'warehouses', projectId, 'dev.duckdb'));
    assert.equal(folders.files(placeOf('dev', 1)), join(root, 'files', projectId, 'dev'));
    await fill(placeOf('dev'));
    assert.equal(await countTables(placeOf('dev', 1)), 1);
  });

  it('is not seen by an environment that is created again, whether it is deleted yet or not', async () => {
    await fill(placeOf('dev'));
    assert.equal(await countTables(placeOf('dev', 2)), 0);
    assert.ok(!existsSync(join(folders.files(placeOf('dev', 2)), 'input.csv')));
  });

  it('goes when the server says that the environment is deleted, and that of no other one', async () => {
    const others = [placeOf('dev', 3), placeOf('dev2'), placeOf('dev.x'), placeOf('prod')];
    for (const place of [placeOf('dev'), placeOf('dev', 2), placeOf('Dev!', 2), ...others]) await fill(place);
    const { asked, options } = answering([
      { projectId, environmentName: 'dev', generation: 2 },
      { projectId, environmentName: 'Dev!', generation: 2 },
      { projectId, environmentName: 'never-here', generation: 9 },
    ]);
    await removeDeleted(options, signal);
    assert.deepEqual(asked, [{ projectIds: [projectId] }]);
    for (const place of [placeOf('dev'), placeOf('dev', 2), placeOf('Dev!', 2)]) {
      assert.ok(!existsSync(folders.files(place)));
      const left = readdirSync(dirname(folders.database(place))).map((name) =>
        join(root, 'warehouses', projectId, name),
      );
      assert.deepEqual(
        left.filter((path) => path.startsWith(folders.database(place))),
        [],
      );
    }
    for (const place of others) {
      assert.equal(await countTables(place), 1, JSON.stringify(place));
      assert.ok(existsSync(join(folders.files(place), 'input.csv')));
    }
  });

  it('waits for whatever is connected to it', async () => {
    const place = placeOf('busy');
    await fill(place);
    const connection = await driver.connect(place);
    const { options } = answering([{ ...place, generation: 1 }]);
    await removeDeleted(options, signal);
    assert.equal((await connection.query('from t', 1)).columns.length, 1);
    await connection.close();
    await removeDeleted(options, signal);
    assert.ok(!existsSync(folders.database(place)));
  });

  it('is asked about page by page', async () => {
    const last = { projectId, environmentName: 'x', generation: 1 };
    const { asked, options } = answering([last], 2);
    await removeDeleted(options, signal);
    assert.deepEqual(asked.at(-1), { projectIds: [projectId], after: last });
  });

  it('is asked about until the agent ends, also after failures and while a server does not know the question', async () => {
    const stopping = new AbortController();
    const failures = [new Error('no network'), new ControlPlaneError(404, 'path-not-found', 'no')];
    const { asked, options } = answering([]);
    const deletedEnvironments = (body: DeletedEnvironmentsRequest) => {
      const failure = failures.shift();
      return failure === undefined ? options.controlPlane.deletedEnvironments(body) : Promise.reject(failure);
    };
    let warnings = 0;
    const log = {
      ...errorLog,
      warn: () => {
        warnings += 1;
      },
    };
    let sleeps = 0;
    const sleep = async () => {
      sleeps += 1;
      if (asked.length > 0) stopping.abort();
    };
    await keepRemoving({ ...options, controlPlane: { deletedEnvironments }, log }, sleep, stopping.signal);
    assert.deepEqual([sleeps, asked.length, warnings], [3, 1, 1]);
  });
});
