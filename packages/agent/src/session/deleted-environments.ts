/**
 * Deletes the data of deleted environments. The agent asks, at its start and every minute, because each instance has
 * its own data and may have been away when an environment was deleted (docs/adr/0084). Nobody waits for it: an
 * environment that is created again has data of another name.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeletedEnvironments } from '@headgate/contract';
import { askedProjectLimit } from '@headgate/contract/without-schemas';
import { type EnvironmentPlace, type Folders, readGeneration, removeTree } from '../host/folders.ts';
import { getReason, type Log } from '../log.ts';
import type { Time } from '../time.ts';
import type { WarehouseDriver } from '../warehouses/warehouse.ts';
import { type ControlPlane, ControlPlaneError } from './control-plane.ts';

export interface DeletedEnvironmentsOptions {
  controlPlane: Pick<ControlPlane, 'deletedEnvironments'>;
  folders: Folders;
  warehouses: { duckdb: Pick<WarehouseDriver, 'remove'> };
  log: Log;
}

type DeletedEnvironment = DeletedEnvironments['deleted'][number];

const everyMilliseconds = 60_000;

/** Ends with the signal. Never rejects. */
export async function keepRemoving(
  options: DeletedEnvironmentsOptions,
  sleep: Time['sleep'],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await removeDeleted(options, signal);
    } catch (failure) {
      // A server of an earlier version does not know the question, but the next one may.
      const isUnknown = failure instanceof ControlPlaneError && failure.status === 404;
      if (!signal.aborted && !isUnknown)
        options.log.warn('the data of deleted environments could not be deleted; trying again', {
          reason: getReason(failure),
        });
    }
    await sleep(everyMilliseconds, signal);
  }
}

/** Asks once, and deletes what can be deleted now. */
export async function removeDeleted(options: DeletedEnvironmentsOptions, signal: AbortSignal): Promise<void> {
  const { folders, controlPlane } = options;
  const projects = [...new Set([...(await list(folders.databases)), ...(await list(folders.allFiles))])];
  const ids = projects.filter((name) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name));
  for (let from = 0; from < ids.length; from += askedProjectLimit) {
    const projectIds = ids.slice(from, from + askedProjectLimit);
    let after: Pick<DeletedEnvironment, 'projectId' | 'environmentName'> | undefined;
    do {
      const { deleted, isCut } = await controlPlane.deletedEnvironments(
        { projectIds, ...(after === undefined ? {} : { after }) },
        signal,
      );
      for (const each of deleted)
        for (const place of await listPlaces(folders, each)) await remove(options, place);
      after = isCut ? deleted.at(-1) : undefined;
    } while (after !== undefined);
  }
}

/** The generations of a deleted environment that have data here. */
async function listPlaces(
  folders: Folders,
  { projectId, environmentName, generation }: DeletedEnvironment,
): Promise<EnvironmentPlace[]> {
  const databases = (await list(join(folders.databases, projectId))).map((name) =>
    name.replace(/\.duckdb(?:\.wal)?$/, ''),
  );
  const names = [...databases, ...(await list(join(folders.allFiles, projectId)))];
  const found = names.map((name) => readGeneration(name, environmentName) ?? Number.POSITIVE_INFINITY);
  const deleted = new Set(found.filter((each) => each <= generation));
  return [...deleted].map((each) => ({ projectId, environmentName, generation: each }));
}

async function remove({ folders, warehouses, log }: DeletedEnvironmentsOptions, place: EnvironmentPlace) {
  // A run that is being cancelled: next time.
  if (!(await warehouses.duckdb.remove(place))) return;
  await removeTree(folders.files(place));
  log.info('deleted the data of a deleted environment', { ...place });
}

function list(folder: string): Promise<string[]> {
  return readdir(folder).catch((failure: NodeJS.ErrnoException) => {
    if (failure.code === 'ENOENT') return [];
    throw failure;
  });
}
