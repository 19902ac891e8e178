/** Runs one write of the directory: its transaction, repeated after a conflict, or its dry run. */
import { type Operation, scimBase } from '@headgate/contract';
import type { Database } from '../../../kernel/database/database.ts';
import type { Answered, LongCall, Outcome } from '../../../kernel/endpoint/endpoint.ts';
import { Problem } from '../../../kernel/http/problems.ts';
import type { Tokens } from '../../../kernel/security/tokens.ts';
import type { ResourceSchema } from '../schema/scim-attribute.ts';
import { readProjection } from '../schema/scim-projection.ts';
import { isSuperAdminCaller } from './caller.store.ts';
import type { DirectoryWrite, Written } from './directory-write.ts';
import { DryRun, describeDryRun, endDryRun } from './dry-run.ts';

export interface DirectoryNeeds {
  database: Database;
  tokens: Tokens;
}

/** Requests that wait for each other in a circle are repeated this often. */
const attempts = 4;

/** The address of the SCIM service. */
export function renderBase({ tokens }: DirectoryNeeds): string {
  return `${tokens.issuer}/dpc${scimBase}`;
}

interface WriteQuery {
  attributes?: string | undefined;
  excludedAttributes?: string | undefined;
  dryRun?: boolean | undefined;
  confirm?: boolean | undefined;
}

/** A call of an operation that writes, of any of the directory. */
type WriteCall = Pick<LongCall<Operation>, 'scope' | 'now' | 'newId' | 'write'> & {
  query: WriteQuery;
  body?: unknown;
  headers?: { 'If-Match'?: string | undefined } | undefined;
};

export type DirectoryWork = (write: DirectoryWrite) => Promise<Written>;

export async function runDirectoryWrite(
  needs: DirectoryNeeds,
  schema: ResourceSchema,
  input: unknown,
  work: DirectoryWork,
): Promise<Answered> {
  const call = input as WriteCall;
  const { query, scope } = call;
  const projection = readProjection(schema, query.attributes, query.excludedAttributes);
  const content = JSON.stringify(call.body) ?? '';
  const run = () =>
    call.write(content, async (tx): Promise<Outcome<Operation>> => {
      const isSuperAdmin = isSuperAdminCaller(tx, scope, call.now);
      // The work may fail before it needs this.
      isSuperAdmin.catch(() => undefined);
      const done = await work({
        tx,
        scope,
        now: call.now,
        newId: call.newId,
        base: renderBase(needs),
        isSuperAdmin,
        isConfirmed: query.confirm ?? false,
        ifMatch: call.headers?.['If-Match'],
        projection,
      });
      if (query.dryRun) throw await endDryRun(tx.query, scope, done);
      return toOutcome(schema, done);
    });
  return repeatAfterConflict(run).catch(async (failure: unknown) => {
    if (!(failure instanceof DryRun)) throw failure;
    const described = await describeDryRun(needs.database.read, scope, failure);
    return {
      status: 200,
      headers: { 'content-type': 'application/scim+json' },
      body: JSON.stringify(described),
    };
  });
}

function toOutcome(schema: ResourceSchema, done: Written): Outcome<Operation> {
  const outcome: Record<string, unknown> = { events: done.events };
  if (done.resource !== undefined) outcome.body = done.resource;
  if (done.etag !== undefined) outcome.etag = done.etag;
  if (done.status === 201) outcome.location = `${scimBase}/${schema.endpoint}/${done.id}`;
  return outcome as unknown as Outcome<Operation>;
}

/** Nothing of a refused attempt is left, so it can be repeated. */
export async function repeatAfterConflict<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (failure) {
      const isConflict = failure instanceof Problem && failure.code === 'concurrent-change';
      if (!isConflict || attempt === attempts) throw failure;
    }
  }
}
