/** Redshift as a warehouse, over the protocol and the client of PostgreSQL. */
import { createPostgresDriver, type PostgresOptions } from './postgres.ts';
import { redshiftServer } from './redshift/redshift-server.ts';
import type { ServedDriver } from './warehouse.ts';

export const createRedshiftDriver = (options: PostgresOptions): ServedDriver =>
  createPostgresDriver(options, redshiftServer);
