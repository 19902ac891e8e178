/**
 * Git's smart HTTP protocol at /git/{projectId}.git (gitprotocol-http): clone, fetch and push by an ordinary
 * git. Fetches are answered by `git upload-pack`; pushes by push.ts. Problems are text, which git shows.
 */

import type { Permission } from '@headgate/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Endpoints, Services } from '../../kernel/endpoint/endpoint.ts';
import { toProblem } from '../../kernel/endpoint/endpoint.ts';
import { decodeContent } from '../../kernel/http/content-encoding.ts';
import { Problem, problem } from '../../kernel/http/problems.ts';
import { admit, recountRefused } from '../../kernel/security/admission.ts';
import { explainForbidden, makeGuardParameters } from '../../kernel/security/guard.ts';
import { InactiveCaller } from '../../kernel/security/inactive-caller.ts';
import { findRequiredRoles, type Scope } from '../../kernel/security/permissions.ts';
import type { GitRepository } from '../git/index.ts';
import { answerFetch, answerFetchRefs } from './fetch.ts';
import { type CallerServices, explainForGit, identifyCaller } from './git-caller.ts';
import { repositoryForGit } from './hosted.store.ts';
import { withIdleLimit } from './idle-limit.ts';
import { BadPacket, createPacketReader, flushPacket, formatLine, formatPacket } from './packet-lines.ts';
import { type PushServices, receivePush, refusePush } from './push.ts';
import type { BranchRules } from './push-judgement.ts';

/** What push.ts can do. */
const capabilities =
  'report-status delete-refs side-band-64k quiet atomic ofs-delta object-format=sha1 agent=headgate';
const noObject = '0'.repeat(40);

async function advertisePush(repository: GitRepository): Promise<Buffer> {
  const refs = await repository.listRefs(['refs/heads/', 'refs/tags/']);
  const [first = { objectId: noObject, name: 'capabilities^{}' }, ...others] = refs;
  return Buffer.concat([
    formatLine('# service=git-receive-pack'),
    flushPacket,
    formatPacket(Buffer.from(`${first.objectId} ${first.name}\0${capabilities}\n`)),
    ...others.map(({ objectId, name }) => formatLine(`${objectId} ${name}`)),
    flushPacket,
  ]);
}

export interface GitRouteServices extends Services, CallerServices, PushServices {}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** No bytes for this long end a push: it holds a place. */
const idleMilliseconds = 60_000;

interface Found {
  scope: Scope;
  projectId: string;
  rules: BranchRules;
}

type Serve = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

export function gitRoutes({ app }: Endpoints, services: GitRouteServices): void {
  const { hosted } = services;

  // The routes read their bodies themselves.
  app.addContentTypeParser(/^application\/x-git-(upload|receive)-pack-request$/, (_request, _payload, done) =>
    done(null),
  );

  /** Finds the repository with the caller's rights at this moment. */
  async function find(request: FastifyRequest, reply: FastifyReply, permission: Permission): Promise<Found> {
    const scope = await admit(services, request, reply, () => identifyCaller(services, request));
    const { repository = '' } = request.params as { repository?: string };
    const projectId = repository.replace(/\.git$/, '').toLowerCase();
    if (!uuid.test(projectId)) throw problem('path-not-found', { nearest: undefined });
    if (!repository.endsWith('.git'))
      throw problem('git-address-incomplete', { path: `/git/${projectId}.git` });
    const row = await findRow(services, scope, projectId, permission);
    if (row.migration_id !== null) throw problem('migration-in-progress', { migrationId: row.migration_id });
    if (row.provider !== 'headgate') throw problem('not-hosted-here', { provider: row.provider });
    const rules = { defaultBranch: row.default_branch, protectedBranches: row.protected_branches };
    return { scope, projectId, rules };
  }

  const open = ({ scope, projectId, rules }: Found, signal: AbortSignal) =>
    hosted.open({ accountId: scope.accountId, projectId, signal }, rules.defaultBranch);

  app.get(
    '/git/:repository/info/refs',
    answerProblems(async (request, reply) => {
      const { service } = request.query as { service?: unknown };
      if (service !== 'git-upload-pack' && service !== 'git-receive-pack') {
        await find(request, reply, 'project:read');
        throw problem('smart-git-required');
      }
      const permission = service === 'git-upload-pack' ? 'project:read' : 'repository:push';
      const found = await find(request, reply, permission);
      const repository = await open(found, watchClient(request, reply));
      reply.headers(uncached).type(`application/x-${service}-advertisement`);
      if (service === 'git-receive-pack') return reply.send(await advertisePush(repository));
      return reply.send(
        await answerFetchRefs(services, request, { accountId: found.scope.accountId, repository }),
      );
    }),
  );

  app.post(
    '/git/:repository/git-upload-pack',
    { config: { bodyType: 'application/x-git-upload-pack-request' } },
    answerProblems(async (request, reply) => {
      const found = await find(request, reply, 'project:read');
      requireType(request, 'git-upload-pack');
      const signal = watchClient(request, reply);
      const repository = await open(found, signal);
      const output = await answerFetch(services, request, {
        accountId: found.scope.accountId,
        repository,
        signal,
      });
      return reply.headers(uncached).type('application/x-git-upload-pack-result').send(output);
    }),
  );

  app.post(
    '/git/:repository/git-receive-pack',
    { config: { bodyType: 'application/x-git-receive-pack-request' } },
    answerProblems(async (request, reply) => {
      const found = await find(request, reply, 'repository:push');
      requireType(request, 'git-receive-pack');
      const signal = watchClient(request, reply);
      const repository = await open(found, signal);
      const packets = createPacketReader(withIdleLimit(decodeContent(request.raw), idleMilliseconds));
      const about = { ...found, requestId: request.id, repository, packets, signal };
      const answer = await receivePush(services, about).catch((failure: unknown) => {
        throw failure instanceof BadPacket ? refusePush(failure.message) : failure;
      });
      return reply.headers(uncached).type('application/x-git-receive-pack-result').send(answer);
    }),
  );

  /** Git shows a text of the server to its user, but no JSON. */
  function answerProblems(serve: Serve): Serve {
    return async (request, reply) => {
      try {
        return await serve(request, reply);
      } catch (failure) {
        const explained = explainForGit(recountRefused(services.rateLimit, request, reply, failure));
        const found = explained instanceof Problem ? explained : toProblem(explained);
        // The client is gone, or the server's own fault: the error handler logs it.
        if (found === undefined || found.status === 500) throw failure;
        return reply
          .code(found.status)
          .headers({ ...found.headers, ...uncached })
          .type('text/plain; charset=utf-8')
          .send(`${found.message}\n`);
      }
    };
  }
}

const uncached = {
  'cache-control': 'no-cache, max-age=0, must-revalidate',
  expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
  pragma: 'no-cache',
};

async function findRow(
  { database, clock }: Services,
  scope: Scope,
  projectId: string,
  permission: Permission,
) {
  const place = { projectId, environmentName: null };
  const guard = { call: { scope, now: clock.now() }, place, roles: findRequiredRoles(permission) };
  const parameters = { ...makeGuardParameters(guard), project_id: projectId };
  const [row] = await database.read(repositoryForGit, parameters);
  if (row?.standing === 'inactive') throw new InactiveCaller(scope);
  if (row?.standing === 'forbidden') throw await explainForbidden(database.read, scope, permission, place);
  if (row?.standing !== 'permitted') throw problem('project-not-found', { projectId });
  const { provider } = row;
  if (provider === null) throw problem('repository-not-found');
  return { ...row, provider };
}

/** Bodies of other types have been read already, or are not git's. */
function requireType(request: FastifyRequest, service: string): void {
  const expected = `application/x-${service}-request`;
  if (request.headers['content-type'] !== expected) throw problem('unsupported-media-type', { expected });
}

/** Aborted when the client leaves before it has its response. */
function watchClient(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  const stop = () => {
    if (!reply.raw.writableFinished) leaving.abort();
  };
  reply.raw.once('close', stop);
  request.raw.once('aborted', stop);
  return leaving.signal;
}
