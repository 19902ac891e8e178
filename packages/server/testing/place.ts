import { randomUUID } from 'node:crypto';
import type { Account, RegisteredAgent } from './account.ts';
import type { Asked } from './client.ts';
import { type Part, smallPipeline, type TestProject, upload } from './project.ts';

/**
 * A project for the tests over all operations, with something for each operation to work on: dev has a
 * version and an override, and there is an agent.
 */
export interface Place {
  account: Account;
  agent: RegisteredAgent;
  project: TestProject;
  now: Date;
  /** Returns a new name, so that an example can be sent again. */
  named(base: string): string;
}

/** Names for the published reference. Such a place is for one example only. */
const published = { agent: 'oslo-1', project: 'Weather', named: (base: string) => base };

export async function createPlace(
  account: Account,
  input: { published?: boolean; now?: Date } = {},
): Promise<Place> {
  const names = input.published ? published : undefined;
  const place: Place = {
    account,
    agent: await account.agent(names?.agent),
    project: await account.project(names?.project),
    now: input.now ?? account.now(),
    named: names?.named ?? ((base) => `${base}_${randomUUID().replaceAll('-', '')}`),
  };
  await upload(account.admin, place.project, [mainPipeline]);
  await account.admin.post(`${place.project.path}/variables`, city);
  await account.admin.post(`${place.project.path}/variables/city/environment-overrides`, override);
  return place;
}

export interface Example extends Asked {
  path: string;
  /** The parts of a multipart body. */
  parts?: readonly Part[];
}

/** By operation id. The account's admin creates what an operation deletes before each request. */
export type Examples = Record<string, (place: Place) => Promise<Example> | Example>;

export const mainPipeline = { name: 'main.orch.yaml', content: smallPipeline };
export const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED', value: 'Oslo' };
export const override = { environmentName: 'dev', value: 'Bergen' };
