/** Where servers that speak PostgreSQL's protocol differ. */
import type { Client } from 'pg';
import type { PostgresAccess, RefusedCluster } from './postgres-access.ts';

/** Tables of the control plane, which no tenant's connection may reach. */
export const ownTables = ['agent_request', 'environment_default_connection', 'work_turn'];

/** How a server names one of its sessions. */
export interface ServerSession {
  tag: string;
  /** A name of the vendor, or the number of its process. */
  processId: number | string;
  startedAt: string;
  /** The schema of a test, dropped after the session has ended. The session is of the credential for reading. */
  scratch?: string;
}

export interface PreparedSession {
  serverVersion: string;
  /** Names the session at the server, with its start: another one may have the number later. */
  processId: number;
  /** Empty if the server does not say it: then the session cannot be ended by the next start of the agent. */
  startedAt: string;
}

export interface ServerKind {
  readonly name: 'postgres' | 'redshift';
  /** Where it listens if the connection does not say it. */
  readonly port: number;
  /** Whether secrets in SQL are sent as parameters. Else they are in the text of the statement. */
  readonly bindsSecrets: boolean;
  /** Says in SQL whether the role may write to the relation `c`. */
  readonly writes: string;
  /** In which a query of a person runs. */
  readonly beginReading: string;
  /**
   * Sets what values and SQL depend on, and names the session by `tag`.
   *
   * @throws OwnDatabase
   */
  prepare(
    client: Client,
    access: PostgresAccess,
    refused: RefusedCluster,
    tag: string,
  ): Promise<PreparedSession>;
  /**
   * Asks the server to cancel what another session of the same login runs.
   *
   * @param isInTransaction whether it runs in a transaction that BEGIN has opened
   */
  cancel(client: Client, session: PreparedSession, isInTransaction: boolean): Promise<void>;
  /** Ends a session of the same login, if it is still there. Returns whether it was. */
  end(client: Client, session: ServerSession): Promise<boolean>;
  /** Whether the role of this session may use a schema; undefined: there is none. */
  canUseSchema(client: Client, schema: string): Promise<boolean | undefined>;
  /** @throws Error that says how to change the role, if it may do more than read */
  requireReadOnlyRole(client: Client, access: PostgresAccess, runRole: string): Promise<void>;
  /** @throws Error if a query of a person is not of a kind that only reads, where the transaction does not see to it */
  requireReadingSql(sql: string): void;
}

export class OwnDatabase extends Error {}

export const refuseOwnTables = (name: string): OwnDatabase =>
  new OwnDatabase(
    `the database of the connection "${name}" is that of a Headgate server, which no run may use: name another database`,
  );

export const refuseOwnCluster = (name: string): OwnDatabase =>
  new OwnDatabase(
    `the server of the connection "${name}" is that of a Headgate server, whose databases no run may use: use a server of its own`,
  );
