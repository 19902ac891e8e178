/** A project in which every operation has something to work on, for the tests over all operations. */
import { randomUUID } from 'node:crypto';
import type { Account, RegisteredAgent } from './account.ts';
import type { Asked } from './client.ts';
import { type Part, smallPipeline, type TestProject, upload } from './project.ts';

/**
 * A project in which every operation has something to work on: in dev a version and an override, and an
 * agent.
 */
export interface Place {
  account: Account;
  agent: RegisteredAgent;
  project: TestProject;
  now: Date;
  /** The name of something that an example makes: never used before, so that an example can be sent again. */
  named(base: string): string;
}

/**
 * What is to be seen in the reference: names as one would choose them. Such a place is for one example only.
 */
const published = { agent: 'oslo-1', project: 'Weather', named: (base: string) => base };

export async function createPlace(
  account: Account,
  given: { published?: boolean; now?: Date } = {},
): Promise<Place> {
  const names = given.published ? published : undefined;
  const place: Place = {
    account,
    agent: await account.agent(names?.agent),
    project: await account.project(names?.project),
    now: given.now ?? new Date(),
    named: names?.named ?? ((base) => `${base}_${randomUUID().replaceAll('-', '')}`),
  };
  await upload(account.admin, place.project, [mainPipeline]);
  await account.admin.post(`${place.project.path}/variables`, city);
  await account.admin.post(`${place.project.path}/variables/city/environment-overrides`, override);
  return place;
}

export interface Example extends Asked {
  path: string;
  /** The parts of a body that is a form. */
  parts?: readonly Part[];
}

/**
 * By the operation's id. What an operation takes away is made before each request, by the account's admin.
 */
export type Examples = Record<string, (place: Place) => Promise<Example> | Example>;

export const mainPipeline = { name: 'main.orch.yaml', content: smallPipeline };
export const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED', value: 'Oslo' };
export const override = { environmentName: 'dev', value: 'Bergen' };
