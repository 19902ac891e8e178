/**
 * `POST /hooks/git/{projectId}`: webhooks of Git providers. The path is outside `/dpc`: a provider has no token,
 * it shows the secret of the project, or signs with it. What a hook says is not trusted. It makes the server
 * look at a branch.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../kernel/clock.ts';
import type { Database, Read } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { createHeldBodies } from '../../kernel/http/held-bodies.ts';
import { cutLateBody } from '../../kernel/http/late-body.ts';
import { type Problem, problem } from '../../kernel/http/problems.ts';
import type { Log } from '../../kernel/log.ts';
import type { RateLimit } from '../../kernel/security/rate-limit.ts';
import type { Sealer, Secret } from '../../kernel/security/sealed.ts';
import { type GitProvider, type HookReading, providerAdapters } from '../git-providers/index.ts';
import { findHookTarget, getHookSecretPurpose, noteHook } from './hook.store.ts';

export interface HookServices {
  database: Database;
  clock: Clock;
  sealer: Sealer;
  rateLimit: RateLimit;
  log: Log;
}

export const hookPath = '/hooks/git';
const mostHookBytes = 4 * 1_048_576;
/** Providers wait for an answer ten seconds. */
const hookMilliseconds = 30_000;
/** Of one project, and of all. */
const heldBytes = { ofOwners: [4 * mostHookBytes], inAll: 16 * mostHookBytes };
const jsonPattern = /^application\/json\b/i;
const projectPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

interface HookParams {
  projectId: string;
}

interface HookTarget {
  /** In lower case. */
  projectId: string;
  target: NonNullable<Awaited<ReturnType<typeof findHookTarget>>>;
  readHook: NonNullable<GitProvider['readHook']>;
  sealedSecret: Buffer;
}

export function hookRoutes({ app }: Endpoints, services: HookServices): void {
  const held = createHeldBodies({ ...heldBytes, limitBytes: mostHookBytes });

  const targets = new WeakMap<FastifyRequest, HookTarget>();

  /** Before the body is read: a stranger's is not. */
  async function requireTarget(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { projectId } = request.params as HookParams;
    const target = await findReadableTarget(services.database.read, projectId);
    if (target === undefined) throw refuseHook(services.rateLimit, request);
    held.hold(request, reply, [target.projectId]);
    targets.set(request, target);
  }

  const cutLate = cutLateBody(hookMilliseconds, (reply) => {
    reply.code(408).send();
  });

  // A scope of its own: signatures are of the bytes, so that the body must not be parsed before.
  app.register((scope: FastifyInstance, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser<Buffer>(
      jsonPattern,
      { parseAs: 'buffer', bodyLimit: mostHookBytes },
      (_request, bytes, parsed) => parsed(null, bytes),
    );
    scope.post<{ Params: HookParams }>(
      `${hookPath}/:projectId`,
      { onRequest: [requireJson, requireTarget, cutLate] },
      async (request, reply) => {
        const target = targets.get(request);
        if (target === undefined) throw new Error('The target of the webhook was not read.');
        const notice = await receiveHook(services, target, request);
        return reply.code(notice.status === 'accepted' ? 202 : 200).send(notice);
      },
    );
    done();
  });
}

async function requireJson(request: FastifyRequest): Promise<void> {
  if (!jsonPattern.test(request.headers['content-type'] ?? ''))
    throw problem('unsupported-media-type', { expected: 'application/json' });
}

interface HookAnswer {
  status: 'accepted' | 'ignored';
  reason?: string;
}

async function receiveHook(
  { database, clock, sealer, rateLimit, log }: HookServices,
  { projectId, target, readHook, sealedSecret }: HookTarget,
  request: FastifyRequest,
): Promise<HookAnswer> {
  const now = clock.now();
  const secret = sealer.unseal(sealedSecret, getHookSecretPurpose(projectId));
  const reading = readSigned(readHook, request, secret, now);
  if (reading.kind === 'refused') {
    log.info(
      { requestId: request.id, projectId, code: reading.code },
      'a webhook of a Git provider was refused',
    );
    if (reading.code === 'unsigned-hook' || reading.code === 'wrong-hook-secret')
      throw refuseHook(rateLimit, request);
    throw problem('hook-invalid', { reason: reading.detail });
  }
  rateLimit.count({ accountId: target.account_id, actorId: `hooks of ${projectId}` });
  // Not noted: the provider can send it again when the migration has ended.
  if (target.migration_id !== null)
    throw problem('migration-in-progress', { migrationId: target.migration_id });
  const hook = { accountId: target.account_id, projectId, deliveryIds: reading.deliveryIds, now };
  const noted = await noteHook(database.read, hook, reading);
  if (noted === undefined) throw problem('hook-repeated');
  if (reading.kind === 'ignored') return { status: 'ignored', reason: reading.reason };
  if (noted.woken > 0) return { status: 'accepted' };
  return { status: 'ignored', reason: explainIgnored(reading) };
}

/** Undefined for a project that takes no webhooks. */
async function findReadableTarget(read: Read, written: string): Promise<HookTarget | undefined> {
  const projectId = written.toLowerCase();
  const target = projectPattern.test(projectId) ? await findHookTarget(read, projectId) : undefined;
  const readHook = target && findReader(target.provider);
  if (target === undefined || readHook === undefined || target.sealed_hook_secret === null) return undefined;
  return { projectId, target, readHook, sealedSecret: target.sealed_hook_secret };
}

/** Throws `rate-limited` if the address has sent many hooks that were refused. */
function refuseHook(rateLimit: RateLimit, request: FastifyRequest): Problem {
  rateLimit.countRefused(request.ip);
  return problem('hook-not-found');
}

const mostNamed = 5;

function explainIgnored(reading: Exclude<HookReading, { kind: 'refused' | 'ignored' }>): string {
  if (reading.kind === 'review') return 'Too many branches of the project are under review.';
  const names = reading.branches.slice(0, mostNamed).map((branch) => JSON.stringify(branch));
  const more = reading.branches.length > mostNamed ? ` and ${reading.branches.length - mostNamed} more` : '';
  return names.length === 1
    ? `No delivery rule names the branch ${names[0]}.`
    : `No delivery rule names one of the branches ${names.join(', ')}${more}.`;
}

function findReader(provider: string): GitProvider['readHook'] {
  return provider === 'headgate' ? undefined : providerAdapters[provider as GitProvider['name']].readHook;
}

function readSigned(
  readHook: NonNullable<GitProvider['readHook']>,
  request: FastifyRequest,
  secret: Secret,
  now: Date,
): HookReading {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  return readHook({ headers, body, secret, now });
}
