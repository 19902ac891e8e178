/** The warehouse of one piece of work: the environment's database, or the server of its connection. */
import type { ProjectWarehouse, Secret, SecretCoordinates } from '@headgate/contract';
import type { EnvironmentPlace } from '../host/folders.ts';
import { readDefaultPlace } from '../warehouses/postgres/postgres-access.ts';
import { readSnowflakePlace } from '../warehouses/snowflake/snowflake-access.ts';
import {
  nameSecret,
  type ReadingConnection,
  type ServedTarget,
  type WarehouseConnection,
  type Warehouses,
} from '../warehouses/warehouse.ts';
import type { ReadWarehouseSecret } from './run-secret-options.ts';

export interface WorkWarehouse {
  /** Why nothing can run in it; undefined: it can be tried. */
  readonly fault?: string;
  /** What names without database or schema mean; absent: as in the embedded warehouse. */
  readonly defaults?: { database: string; schema: string };
  connect(): Promise<WarehouseConnection>;
  connectReading(): Promise<ReadingConnection>;
  /** @param filesFolder of a test. `schema`: what names without a schema mean; absent: as outside of the test */
  connectScratch(filesFolder: string): Promise<{ warehouse: WarehouseConnection; schema?: string }>;
}

export interface WarehouseWork {
  warehouse: ProjectWarehouse;
  place: EnvironmentPlace;
  /** The execution, as the sessions of a server are named. */
  id: string;
  readSecret: ReadWarehouseSecret;
}

const placeReaders = {
  postgres: readDefaultPlace,
  redshift: readDefaultPlace,
  snowflake: readSnowflakePlace,
};

export function openWorkWarehouse(warehouses: Warehouses, work: WarehouseWork): WorkWarehouse {
  const { warehouse, place, id } = work;
  const { kind, connection } = warehouse;
  if (kind === 'duckdb')
    return {
      connect: () => warehouses.duckdb.connect(place),
      connectReading: () => warehouses.duckdb.connectReading(place),
      connectScratch: async (filesFolder) => ({
        warehouse: await warehouses.duckdb.connectScratch(place, filesFolder),
      }),
    };
  if (kind !== 'postgres' && kind !== 'redshift' && kind !== 'snowflake')
    return refuse(
      `this agent does not support the project's warehouse, ${kind}: use a project with a supported warehouse`,
    );
  if (connection === undefined) return refuse(describeMissingConnection(place, kind.toUpperCase()));
  try {
    const target = { connection, tag: `hg:${id}`, ...createSecretCache(work) };
    return {
      defaults: placeReaders[kind](connection),
      connect: () => warehouses[kind].connect(target),
      connectReading: () => warehouses[kind].connectReading({ ...target, tag: `hg:read:${id}` }),
      connectScratch: () => warehouses[kind].connectScratch(target),
    };
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

export const describeMissingConnection = (
  { environmentName }: { environmentName: string },
  provider: string,
) =>
  `the environment "${environmentName}" has no connection to ${provider}: create a data warehouse connection, and set it as {"defaultConnections": {"DWH": {"${provider}": "<its name>"}}} of the environment`;

function refuse(fault: string): WorkWarehouse {
  const fail = async (): Promise<never> => {
    throw new Error(fault);
  };
  return { fault, connect: fail, connectReading: fail, connectScratch: fail };
}

/** The sessions of one run sign in with the same secrets. A read that failed is tried again. */
function createSecretCache({ readSecret }: WarehouseWork): Pick<ServedTarget, 'readSecret' | 'places'> {
  const known = new Map<string, Promise<Secret>>();
  const places = new Map<string, SecretCoordinates>();
  return {
    places,
    readSecret(name, key) {
      const id = nameSecret(name, key);
      const found = known.get(id) ?? readSecret(name, key, (at) => places.set(id, at));
      known.set(id, found);
      found.catch(() => known.delete(id));
      return found;
    },
  };
}

/** As a test sees it. */
export const placeScratch = (opened: WorkWarehouse, { schema }: { schema?: string }): WorkWarehouse =>
  opened.defaults === undefined || schema === undefined
    ? opened
    : { ...opened, defaults: { ...opened.defaults, schema } };

/** What a run is told of it. */
export const describeWarehouse = (kind: ProjectWarehouse['kind'], { fault, defaults }: WorkWarehouse) => ({
  warehouse: kind.toUpperCase(),
  ...(fault === undefined ? {} : { warehouseFault: fault }),
  ...(defaults === undefined ? {} : { defaults }),
});
