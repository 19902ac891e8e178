/**
 * What the server asks of a Git provider beside Git itself: its HTTP interface and its webhooks. One adapter a
 * provider implements this; testing/git-providers has a conformance suite that all adapters pass.
 *
 * Terminology
 *   adapter     the dialect of one provider. It sends nothing by itself: it calls the `send` it is given
 *   finding     something that is wrong, as a code, a sentence, and what to do about it
 *   hook        a request that a provider sends when a branch or a pull request changed
 *   review      a pull request (GitHub, Azure DevOps) or merge request (GitLab)
 *
 * An adapter never follows what an answer says to other addresses: each request goes below the base address
 * of `findInterface`, and `send` shows the token only to the origin of that address.
 */
import type { Secret } from '@headgate/contract';

/** `git` is any other host: Git works there, and nothing else is known of it. */
export const providerNames = ['github', 'gitlab', 'azure-devops', 'git'] as const;
export type ProviderName = (typeof providerNames)[number];

export const providerFindingCodes = [
  'repository-not-found',
  'repository-archived',
  'repository-not-empty',
  'token-rejected',
  'token-expired',
  'token-reused',
  'role-too-low',
  'force-push-forbidden',
  'protected-branch',
  'hook-declined',
  'quota-exceeded',
  'rate-limited',
  'provider-refused',
  'provider-failed',
  'provider-unreachable',
] as const;
export type ProviderFindingCode = (typeof providerFindingCodes)[number];

export interface ProviderFinding {
  code: ProviderFindingCode;
  /** What is wrong, with the provider's own words where it gave some. Never holds a credential. */
  detail: string;
  /** What to do, naming the right, role or scope to grant. */
  remedy: string;
  /** How long the provider asks to wait. */
  retryAfterSeconds?: number;
}

/** An adapter throws it when the provider refuses or fails. */
export class ProviderRefused extends Error {
  override name = 'ProviderRefused';
  readonly finding: ProviderFinding;
  constructor(finding: ProviderFinding) {
    super(`${finding.detail} ${finding.remedy}`);
    this.finding = finding;
  }
}

export interface ProviderRequest {
  method: 'GET' | 'POST' | 'PUT';
  url: string;
  /** Without Authorization. */
  headers: Readonly<Record<string, string>>;
  body?: string;
}

export interface ProviderAnswer {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

/** How the token is shown: GitHub and GitLab take Bearer; a personal token of Azure DevOps is Basic. */
export type TokenScheme = 'bearer' | 'basic';

/**
 * Sends one request with the token, guarded and bounded. Throws `ProviderRefused` (`provider-unreachable`)
 * if there was no answer. Redirects are answers.
 */
export type SendToProvider = (request: ProviderRequest) => Promise<ProviderAnswer>;

/** The operator's addresses. */
export interface ProviderAddresses {
  githubUrl: string;
  githubApiUrl: string;
  gitlabUrl: string;
  azureDevOpsUrl: string;
}

export interface ProviderRepository {
  /** Without credentials. */
  cloneUrl: string;
  parameters: Readonly<Record<string, string>>;
}

export interface ProviderCall {
  send: SendToProvider;
  /** As `findInterface` answered it. */
  baseUrl: string;
  repository: ProviderRepository;
}

export interface RepositoryDescription {
  /** Undefined in an empty repository. */
  defaultBranch: string | undefined;
  /** No branch at all, or one branch with the single commit that the provider itself made. */
  isEmptyOrInitialCommit: boolean;
  isArchived: boolean;
  canRead: boolean;
  /** Undefined: the provider does not say; a dry push tells. */
  canPush: boolean | undefined;
  /** Of branches that are not protected. */
  canForcePush: boolean | undefined;
  /** Names, or patterns where the provider has patterns. */
  protectedBranches: readonly { name: string; allowsForcePush: boolean }[];
  /** What stands against a push of all branches by this token. */
  findings: readonly ProviderFinding[];
}

export interface RotatedToken {
  token: Secret;
  /** Undefined if it does not expire. */
  expiresAt: Date | undefined;
}

export type CommitState = 'pending' | 'success' | 'failure';

export interface CommitStatus {
  commit: string;
  state: CommitState;
  /** Plain text; an adapter shortens it to what the provider takes. */
  description: string;
  targetUrl: string;
  /** Names the check; a later status of the same name replaces it. */
  context: string;
}

export interface HookRequest {
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Buffer;
  secret: Secret;
  now: Date;
}

export type HookFaultCode = 'unsigned-hook' | 'wrong-hook-secret' | 'hook-too-old' | 'invalid-hook';

/** A hook is a replay if one of its delivery ids was seen before. */
export type HookReading =
  /** The sender did not prove that it has the secret, or the hook is old or unreadable. */
  | { kind: 'refused'; code: HookFaultCode; detail: string }
  /** Signed, and about something else. */
  | { kind: 'ignored'; deliveryIds: readonly string[]; reason: string }
  /** Nothing here is trusted: it tells which branches to look at. */
  | { kind: 'push'; deliveryIds: readonly string[]; branches: readonly string[] }
  | { kind: 'review'; deliveryIds: readonly string[]; branch: string };

/** An answer that was no success, of the interface or of Git over HTTP. */
export interface ProviderFailure {
  /** Undefined if Git's own output is all there is. */
  status?: number;
  headers?: Readonly<Record<string, string | undefined>>;
  /** What the provider wrote: the body, or the lines `remote: …`. */
  text: string;
}

export interface GitProvider {
  name: ProviderName;
  /**
   * The base address of the interface for a repository, or undefined if there is none. It has the origin of
   * the clone address, unless the operator's settings pair the two.
   */
  findInterface(cloneUrl: string, addresses: ProviderAddresses): string | undefined;
  tokenScheme(token: Secret): TokenScheme;
  /** `providerParameters` that the address tells; without members that it does not tell. */
  readParameters(cloneUrl: string): Record<string, string>;
  /** Never throws for what the provider answers: that is a finding. */
  describeRepository(call: ProviderCall): Promise<RepositoryDescription>;
  /** Undefined where tokens are not rotated. Throws ProviderRefused; the old token may be used up then. */
  rotateToken?(call: ProviderCall, expiresAt: Date): Promise<RotatedToken>;
  /** Undefined where commits have no status. Throws ProviderRefused. */
  setCommitStatus?(call: ProviderCall, status: CommitStatus): Promise<void>;
  /** Undefined where no webhook is known; such repositories are polled. */
  readHook?(request: HookRequest): HookReading;
  explainFailure(failure: ProviderFailure): ProviderFinding;
}
