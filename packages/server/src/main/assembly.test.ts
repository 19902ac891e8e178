/** Each declaration of the slices is unique, and every operation is served by one slice. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { getProject, getVariable } from '@headgate/contract';
import Fastify from 'fastify';
import type { Endpoints } from '../kernel/endpoint/endpoint.ts';
import type { PeriodicJob } from '../kernel/retention/periodic-job.ts';
import type { RetentionRule } from '../kernel/retention/retention.ts';
import type { Slice } from '../kernel/slice/slice.ts';
import type { WorkOwner, WorkServices } from '../kernel/work/work.ts';
import {
  collectPeriodicJobs,
  collectRetentionRules,
  collectWorkOwners,
  requireUniqueNames,
  serveSlices,
} from './assembly.ts';
import { slices } from './slices.list.ts';

const one: Slice = { name: 'projects' };
const other: Slice = { name: 'folders' };

/** Endpoints without the kernel's services. */
function endpoints(): Endpoints {
  const app = Fastify();
  const serve: Endpoints['read'] = (operation) =>
    void app.get(`/${operation.id}-${Math.random()}`, { config: { operation } }, () => '');
  return { app, read: serve } as unknown as Endpoints;
}

const served = (slice: Slice, ...operations: (typeof getProject | typeof getVariable)[]): Slice => ({
  ...slice,
  routes({ read }) {
    for (const operation of operations) read(operation as typeof getProject, () => assert.fail());
  },
});

test('an operation served by two slices is an error that names both', () => {
  assert.throws(
    () => serveSlices([served(one, getProject), served(other, getProject)], endpoints(), {}, [getProject]),
    /^Error: the operation "getProject" is declared twice: by projects and folders$/,
  );
});

test('the error lists operations that no slice serves', () => {
  assert.throws(
    () => serveSlices([served(one, getProject), other], endpoints(), {}, [getProject, getVariable]),
    /^Error: no slice serves these operations: getVariable$/,
  );
  serveSlices([served(one, getProject), served(other, getVariable)], endpoints(), {}, [
    getProject,
    getVariable,
  ]);
});

test('a kind of work, a retention rule, a periodic job and a slice can be declared only once', () => {
  const twice = (what: string) => new RegExp(`^Error: the ${what} is declared twice: by \\w+ and folders$`);
  const workKinds = { copy: () => ({}) as WorkOwner };
  assert.throws(
    () =>
      collectWorkOwners(
        [
          { ...one, workKinds },
          { ...other, workKinds },
        ],
        {} as WorkServices,
      ),
    twice('kind of work "copy"'),
  );
  const retention = () => [{ kind: 'copies' } as RetentionRule];
  assert.throws(
    () =>
      collectRetentionRules(
        [
          { ...one, retention },
          { ...other, retention },
        ],
        {},
      ),
    twice('retention rule "copies"'),
  );
  const job: PeriodicJob = { name: 'copying', everyMilliseconds: 1, run: async () => false };
  const periodic = () => [job];
  assert.throws(
    () =>
      collectPeriodicJobs(
        [
          { ...one, periodic },
          { ...other, periodic },
        ],
        {},
        [],
      ),
    twice('periodic job "copying"'),
  );
  assert.throws(
    () => collectPeriodicJobs([{ ...other, periodic }], {}, [job]),
    twice('periodic job "copying"'),
  );
  assert.throws(() => requireUniqueNames([other, { name: 'folders' }]), twice('slice "folders"'));
});

test('the list has every slice folder under its name', () => {
  const folders = ['access', 'workspace', 'delivery', 'records', 'runtime'].flatMap((wing) =>
    readdirSync(fileURLToPath(new URL(`../${wing}`, import.meta.url))),
  );
  assert.deepEqual(slices.map(({ name }) => name).sort(), folders.sort());
});
