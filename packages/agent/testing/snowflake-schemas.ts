/** Schemas that are made on the fake Snowflake, and who may write to them. */
import { FakeFault } from './snowflake-statements.ts';
import type { FakeGrant, FakeUser } from './snowflake-users.ts';

/** What the fake knows of the session that runs a statement. */
export interface SchemaUser {
  user: FakeUser | undefined;
  role: string;
  schema: string | null;
}

const name = '(?:"[^"]+"|[\\w$]+)';
const target = new RegExp(
  `^(?:insert(?: overwrite)? into|copy into|update|delete from|merge into|truncate(?: table)?|alter table|drop (?:table|view)(?: if exists)?|create (?:or replace )?(?:transient )?(?:table|view)(?: if not exists)?)\\s+(${name}(?:\\.${name}){0,2})`,
  'i',
);
const unquote = (part: string) =>
  part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part.toUpperCase();
const readPlace = (written: string) => (written.match(/"[^"]+"|[\w$]+/g) ?? []).map(unquote);

export class FakeSchemas {
  /** By name, the role that made it and the one that may create in it. */
  readonly made = new Map<string, { owner: string; creator?: string; privileges: string[] }>();
  readonly #run: (sql: string) => Promise<unknown>;

  constructor(run: (sql: string) => Promise<unknown>) {
    this.#run = run;
  }

  /**
   * @throws FakeFault where the role may not write.
   * https://docs.snowflake.com/en/user-guide/security-access-control-privileges
   */
  requireWrite(sql: string, session: SchemaUser): void {
    const [, written] = target.exec(sql) ?? [];
    if (written === undefined) return;
    // Names of DuckDB have no case.
    const schema = (readPlace(written).at(-2) ?? session.schema ?? '').toUpperCase();
    const made = this.made.get(schema);
    const owns = session.user?.roles[session.role]?.some(
      ([privilege, on, place]) =>
        privilege === 'OWNERSHIP' && on === 'SCHEMA' && place.split('.').at(-1) === schema,
    );
    if (owns || made?.owner === session.role || made?.creator === session.role) return;
    throw new FakeFault(
      '003001',
      '42501',
      `SQL access control error:\nInsufficient privileges to operate on schema '${schema}'`,
    );
  }

  /** Runs a statement about schemas. Returns whether it was one, and where the session is then. */
  async run(sql: string, session: SchemaUser): Promise<{ schema?: string } | undefined> {
    const [, created] = /^create transient schema (\S+) data_retention_time_in_days = 0$/i.exec(sql) ?? [];
    if (created !== undefined) {
      if (session.user?.roles[session.role]?.every(([privilege]) => privilege !== 'CREATE SCHEMA') !== false)
        throw new FakeFault(
          '003001',
          '42501',
          "SQL access control error:\nInsufficient privileges to operate on database 'SHOP'",
        );
      const schema = readPlace(created).at(-1) ?? '';
      await this.#run(`create schema "${schema}"`);
      this.made.set(schema, { owner: session.role, privileges: [] });
      return {};
    }
    const [, privileges = '', granted, role = ''] =
      /^grant (.*) on schema (\S+) to role "(.*)"$/i.exec(sql) ?? [];
    if (granted !== undefined) {
      const made = this.#find(granted);
      if (made.owner !== session.role) this.#refuse(granted);
      made.creator = role;
      made.privileges = privileges.split(', ');
      return {};
    }
    const [, dropped] = /^drop schema if exists (\S+) cascade$/i.exec(sql) ?? [];
    if (dropped !== undefined) {
      const schema = readPlace(dropped).at(-1) ?? '';
      if (this.made.has(schema) && this.made.get(schema)?.owner !== session.role) this.#refuse(dropped);
      await this.#run(`drop schema if exists "${schema}" cascade`);
      this.made.delete(schema);
      return {};
    }
    const [, used] = /^use schema (\S+)$/i.exec(sql) ?? [];
    if (used === undefined) return undefined;
    const schema = readPlace(used).at(-1) ?? '';
    if (this.#find(used).creator !== session.role) this.#refuse(used);
    return { schema };
  }

  /** What a role may do in the schemas. */
  listGrants(role: string, database: string): FakeGrant[] {
    return [...this.made].flatMap(([schema, { creator, privileges }]) =>
      creator === role
        ? privileges.map((privilege) => [privilege, 'SCHEMA', `${database}.${schema}`] as const)
        : [],
    );
  }

  #find(written: string) {
    const found = this.made.get(readPlace(written).at(-1) ?? '');
    return found ?? this.#refuse(written);
  }

  #refuse(written: string): never {
    throw new FakeFault(
      '002043',
      '02000',
      `SQL compilation error:\nObject '${written}' does not exist or operation cannot be performed.`,
    );
  }
}
