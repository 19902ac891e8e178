/**
 * What the fakes of Git providers have in common: repositories, tokens with roles, and a server on loopback.
 * A dialect turns requests into questions about them. Git itself is not here.
 */
import type { IncomingMessage } from 'node:http';
import { Secret } from '@headgate/contract';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';
import type { ProviderName } from '../../src/delivery/git-providers/git-provider.ts';
import type { ProviderAddresses } from '../../src/delivery/git-providers/index.ts';

export type FakeRole = 'none' | 'read' | 'write' | 'admin';

export interface FakeBranch {
  name: string;
  commits: readonly { id: string; message: string }[];
  /** Undefined: not protected. */
  protection?: { allowsForcePush: boolean; push: 'write' | 'admin' };
}

export interface FakeRepository {
  isArchived: boolean;
  branches: FakeBranch[];
  /** As the provider was sent them. */
  statuses: { commit: string; state: string; description: string; targetUrl: string; context: string }[];
}

export interface FakeToken {
  role: FakeRole;
  /** `expired` and `revoked` tokens are refused. */
  state: 'active' | 'expired' | 'revoked';
  /** Tokens that came of each other by rotation. */
  family: number;
  expiresAt?: string;
}

export interface FakeRequest {
  method: string;
  /** Decoded segments of the path. */
  segments: string[];
  query: URLSearchParams;
  body: Record<string, unknown>;
  token: FakeToken;
  tokenText: string;
}

export interface FakeAnswer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface FakeState {
  repository: FakeRepository;
  tokens: Map<string, FakeToken>;
}

/** How one provider reads requests and answers them. */
export interface Dialect {
  name: ProviderName;
  /** Below the server's address. */
  clonePath: string;
  tokenPrefix: string;
  findAddresses(url: string): Partial<ProviderAddresses>;
  readToken(headers: IncomingMessage['headers']): string | undefined;
  /** For no, wrong, expired and revoked tokens. */
  refuseToken(
    token: FakeToken | undefined,
    request: Omit<FakeRequest, 'token'>,
    state: FakeState,
  ): FakeAnswer;
  hidden: FakeAnswer;
  limited: FakeAnswer;
  /** For requests that do not say who sends them. */
  anonymous?: FakeAnswer;
  answer(request: FakeRequest, state: FakeState): FakeAnswer;
  buildHook(hook: FakeHook): { headers: Record<string, string>; body: string };
}

export interface FakeHook {
  secret: Secret;
  /** `other`: an event that has no effect. `fork`: a review of a fork. */
  event: 'push' | 'tag' | 'review' | 'fork' | 'other';
  branch: string;
  commit: string;
  deliveryId: string;
  at: Date;
}

export interface FakeProvider {
  name: ProviderName;
  url: string;
  cloneUrl: string;
  addresses: ProviderAddresses;
  repository: FakeRepository;
  /** Requests that came, as `METHOD path`. */
  requests: string[];
  /** Answers 429 to this many requests. */
  limitNext: number;
  /** Answers a page that is no JSON. */
  isBroken: boolean;
  addToken(role: FakeRole, state?: FakeToken['state'], isInstallation?: boolean): Secret;
  buildHook: Dialect['buildHook'];
  close(): Promise<void>;
}

export async function startFakeProvider(dialect: Dialect): Promise<FakeProvider> {
  const state: FakeState = {
    repository: { isArchived: false, branches: [], statuses: [] },
    tokens: new Map(),
  };
  const requests: string[] = [];
  const listening = await listenOnLoopback(async (request, response) => {
    const answer = await answerRequest(request);
    const isText = typeof answer.body === 'string';
    response.writeHead(answer.status, {
      'content-type': isText ? 'text/html' : 'application/json',
      ...answer.headers,
    });
    response.end(isText ? answer.body : JSON.stringify(answer.body ?? {}));
  });

  async function answerRequest(message: IncomingMessage): Promise<FakeAnswer> {
    const url = new URL(message.url ?? '/', 'http://fake');
    const method = message.method ?? 'GET';
    requests.push(`${method} ${url.pathname}`);
    if (fake.isBroken) return { status: 200, body: '<html><title>Sign in</title></html>' };
    if (fake.limitNext > 0) {
      fake.limitNext -= 1;
      return dialect.limited;
    }
    if (dialect.anonymous !== undefined && message.headers['user-agent'] === undefined)
      return dialect.anonymous;
    const tokenText = dialect.readToken(message.headers) ?? '';
    const token = state.tokens.get(tokenText);
    const segments = url.pathname.slice(1).split('/').map(decodeURIComponent);
    const question = { method, segments, query: url.searchParams, body: await readBody(message), tokenText };
    if (token === undefined || token.state !== 'active') return dialect.refuseToken(token, question, state);
    if (token.role === 'none') return dialect.hidden;
    return dialect.answer({ ...question, token }, state);
  }

  const url = `http://127.0.0.1:${listening.port}`;
  const fake: FakeProvider = {
    name: dialect.name,
    url,
    cloneUrl: `${url}${dialect.clonePath}`,
    addresses: {
      githubUrl: 'https://github.invalid',
      githubApiUrl: 'https://api.github.invalid',
      gitlabUrl: 'https://gitlab.invalid',
      azureDevOpsUrl: 'https://dev.azure.invalid',
      ...dialect.findAddresses(url),
    },
    repository: state.repository,
    requests,
    limitNext: 0,
    isBroken: false,
    addToken(role, tokenState = 'active', isInstallation = false) {
      const text = `${isInstallation ? 'ghs_' : dialect.tokenPrefix}${state.tokens.size}abcdefghijklmnop`;
      state.tokens.set(text, { role, state: tokenState, family: state.tokens.size });
      return new Secret(text);
    },
    buildHook: dialect.buildHook,
    close: listening.close,
  };
  return fake;
}

async function readBody(message: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

const ranks: Record<FakeRole, number> = { none: 0, read: 1, write: 2, admin: 3 };
export const hasRole = (token: FakeToken, role: FakeRole) => ranks[token.role] >= ranks[role];
export const readBearer = (headers: IncomingMessage['headers']) =>
  /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
/** A parent of each commit but the first; newest first, as providers list them. */
export const listCommits = (repository: FakeRepository) => {
  const commits = repository.branches[0]?.commits ?? [];
  return commits.map((commit, index) => ({ ...commit, parent: commits[index - 1]?.id })).reverse();
};
