/**
 * A control plane for tests: the agent protocol over HTTP on loopback. It checks the rules for agents
 * (tokens, epochs, sequences, schemas) and records each fault in `violations`. It keeps its state while
 * stopped, so a test can restart it.
 */
import { createHash, randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  type AgentCommand,
  type ArtifactManifest,
  ClaimRequest,
  canonicalManifest,
  GoodbyeRequest,
  HeartbeatRequest,
  HelloRequest,
  type LogLine,
  type PipelineExecutionWork,
  type Report,
  ReportsRequest,
  type RunVariables,
  type SecretCoordinates,
  SecretLookup,
  type Step,
  type WorkCommand,
  type WorkItem,
} from '@headgate/contract';
import type { TSchema } from 'typebox';
import { Check } from 'typebox/value';
import type { Outcome } from '../src/session/outbox.ts';

export const testCredential = { clientId: 'test-agent', clientSecret: 'a secret of the test agent' };

interface FakeWork {
  payload: PipelineExecutionWork;
  epoch: number;
  state: 'queued' | 'held' | 'ended';
  instanceId: string | undefined;
  sequence: number;
  command: WorkCommand | undefined;
  steps: Map<string, Step>;
  lines: LogLine[];
  variables: RunVariables[];
  reports: Report['type'][];
  outcome: Outcome | undefined;
}

type Answer = { status: number; body: unknown };
const ok = (body: unknown): Answer => ({ status: 200, body });
const problem = (status: number, code: string): Answer => ({ status, body: { status, code, detail: code } });

export class FakeServer {
  /** The project's secret references, by name; undefined for a server older than references. */
  secretReferences: Record<string, SecretCoordinates> | undefined = {};
  secretLookups = 0;
  readonly violations: string[] = [];
  readonly works = new Map<string, FakeWork>();
  hellos = 0;
  /** In order of arrival. */
  readonly goodbyes: string[] = [];
  /** Sent to an instance that claims or sends heartbeats, until it says goodbye. */
  agentCommand: AgentCommand | undefined;
  /** Behaves like an older server without goodbyes. */
  knowsGoodbye = true;
  heartbeatSeconds = 1;
  leaseSeconds = 30;
  claimWaitSeconds = 5;
  tokenSeconds = 1_800;
  /** The number of answers to lose after the call took effect, by path. */
  readonly loseAnswers = new Map<string, number>();
  /** The number of requests to leave without an answer, by path. */
  readonly hang = new Map<string, number>();
  /** When each heartbeat was answered, in milliseconds. */
  readonly heartbeats: number[] = [];
  /** The number of blob answers to break off after half of their bytes, by path. */
  readonly #breakOff = new Map<string, number>();
  /** Answers of blobs wait for this promise. */
  holdBlobs: Promise<unknown> = Promise.resolve();
  readonly #manifests = new Map<string, ArtifactManifest>();
  readonly #blobs = new Map<string, Buffer>();
  readonly #tokens = new Map<string, number>();
  readonly #events = new EventEmitter().setMaxListeners(1_000);
  #server: Server | undefined;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<this> {
    for (let attempt = 0; ; attempt++) {
      // Below the range from which the system takes outgoing ports, so that a restart finds its own free. Acceptance
      // tests use ports below 26,000.
      const port = this.#port || 26_000 + Math.floor(Math.random() * 4_000);
      const server = createServer((request, response) => void this.#serve(request, response));
      server.listen(port, '127.0.0.1');
      try {
        await once(server, 'listening');
        this.#server = server;
        this.#port = port;
        return this;
      } catch (error) {
        if (attempt === 20) throw error;
      }
    }
  }

  /** Breaks all connections, as a killed server does. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }

  /** Revokes all issued tokens. */
  forgetTokens(): void {
    this.#tokens.clear();
  }

  publish(files: Record<string, string>): string {
    const entries = Object.entries(files).map(([path, text]) => {
      const bytes = Buffer.from(text);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      this.#blobs.set(sha256, bytes);
      return { path, sha256, size: bytes.length };
    });
    const digest = createHash('sha256').update(canonicalManifest(entries)).digest('hex');
    this.#manifests.set(digest, { digest, files: entries });
    return digest;
  }

  /** Sends wrong bytes of the same length for a file. */
  damage(digest: string, path: string): void {
    const file = this.#manifests.get(digest)?.files.find((entry) => entry.path === path);
    if (file) this.#blobs.set(file.sha256, Buffer.alloc(file.size, '#'));
  }

  /** Sends a truncated file without an error. */
  shorten(digest: string, path: string): void {
    const file = this.#manifests.get(digest)?.files.find((entry) => entry.path === path);
    if (file) this.#blobs.set(file.sha256, Buffer.from(this.#blobs.get(file.sha256)?.subarray(1) ?? []));
  }

  /** Breaks the connection in the middle of a file, the given number of times. */
  breakOff(digest: string, path: string, times: number): void {
    const file = this.#manifests.get(digest)?.files.find((entry) => entry.path === path);
    if (file) this.#breakOff.set(`/agent/v1/blobs/${file.sha256}`, times);
  }

  enqueue(work: Partial<PipelineExecutionWork> & { artifactDigest: string }): string {
    const workId = randomUUID();
    const payload: PipelineExecutionWork = {
      pipelineExecutionId: workId,
      projectId: '11111111-1111-4111-8111-111111111111',
      environmentName: 'dev',
      pipelineName: 'main',
      pipelineType: 'ORCHESTRATION',
      versionName: '1',
      variables: [],
      scalarVariables: {},
      gridVariables: {},
      timeLimitSeconds: 600,
      warehouse: { kind: 'duckdb' },
      ...work,
    };
    this.works.set(workId, {
      payload,
      epoch: 0,
      state: 'queued',
      instanceId: undefined,
      sequence: 0,
      command: undefined,
      steps: new Map(),
      lines: [],
      variables: [],
      reports: [],
      outcome: undefined,
    });
    this.#events.emit('change');
    return workId;
  }

  /** Sends a command to the agent itself. */
  commandAgent(command: AgentCommand): void {
    this.agentCommand = command;
    this.#events.emit('change');
  }

  command(workId: string, command: WorkCommand): void {
    this.work(workId).command = command;
    this.#events.emit('change');
  }

  /** Gives held work to another holder. */
  takeAway(workId: string): void {
    const work = this.work(workId);
    work.epoch += 1;
    work.instanceId = 'another';
  }

  work(workId: string): FakeWork {
    const work = this.works.get(workId);
    if (!work) throw new Error(`no work ${workId}`);
    return work;
  }

  /** Waits until `condition` is true. It is evaluated after each change. */
  async until(condition: () => boolean, what: string): Promise<void> {
    const signal = AbortSignal.timeout(120_000);
    while (!condition()) {
      await once(this.#events, 'change', { signal }).catch(() => {
        throw new Error(`did not come: ${what}; works: ${JSON.stringify([...this.works.values()])}`);
      });
    }
  }

  async outcome(workId: string): Promise<Outcome> {
    const work = this.work(workId);
    await this.until(() => work.outcome !== undefined, 'the work’s end');
    return work.outcome as Outcome;
  }

  async stepRunning(workId: string, name: string): Promise<void> {
    const work = this.work(workId);
    const runs = () =>
      [...work.steps.values()].some((step) => step.name === name && step.status === 'RUNNING');
    await this.until(runs, `the step ${name}`);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const hanging = this.hang.get(path) ?? 0;
    if (hanging > 0) {
      this.hang.set(path, hanging - 1);
      this.#events.emit('change');
      return;
    }
    const answer = await this.#answer(path, text, request);
    const lost = this.loseAnswers.get(path) ?? 0;
    if (lost > 0) {
      this.loseAnswers.set(path, lost - 1);
      response.destroy();
    } else if (Buffer.isBuffer(answer)) {
      await this.holdBlobs;
      this.#sendBlob(path, answer, response);
    } else {
      response
        .writeHead(answer.status, { 'content-type': 'application/json' })
        .end(JSON.stringify(answer.body));
    }
    this.#events.emit('change');
  }

  #sendBlob(path: string, bytes: Buffer, response: ServerResponse): void {
    const breaks = this.#breakOff.get(path) ?? 0;
    if (breaks === 0) {
      response.end(bytes);
      return;
    }
    this.#breakOff.set(path, breaks - 1);
    response.writeHead(200, { 'content-length': bytes.length });
    response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
  }

  async #answer(path: string, text: string, request: IncomingMessage): Promise<Answer | Buffer> {
    if (path === '/oauth/dpc/token') return this.#token(new URLSearchParams(text));
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    if ((this.#tokens.get(token) ?? 0) < Date.now()) return problem(401, 'token-invalid');
    const [, , , kind, name = ''] = path.split('/');
    if (kind === 'artifacts')
      return this.#manifests.has(name) ? ok(this.#manifests.get(name)) : problem(404, 'none');
    if (kind === 'blobs') return this.#blobs.get(name) ?? problem(404, 'none');
    const body: unknown = JSON.parse(text);
    if (kind === 'hello' && this.#valid(HelloRequest, body)) return this.#hello();
    if (kind === 'claims' && this.#valid(ClaimRequest, body))
      return this.#claims(body as ClaimRequest, request);
    if (kind === 'heartbeats' && this.#valid(HeartbeatRequest, body))
      return this.#heartbeats(body as HeartbeatRequest);
    if (kind === 'reports' && this.#valid(ReportsRequest, body)) return this.#reports(body as ReportsRequest);
    if (kind === 'secret-references')
      return this.secretReferences && this.#valid(SecretLookup, body)
        ? this.#lookUp(body as SecretLookup, this.secretReferences)
        : problem(404, 'path-not-found');
    if (kind === 'goodbye' && this.knowsGoodbye && this.#valid(GoodbyeRequest, body))
      return this.#goodbye(body as GoodbyeRequest);
    if (kind === 'goodbye') return problem(404, 'path-not-found');
    return problem(400, 'bad-request');
  }

  #valid(schema: TSchema, body: unknown): boolean {
    const valid = Check(schema, body);
    if (!valid) this.violations.push(`not as the schema says: ${JSON.stringify(body)}`);
    return valid;
  }

  #token(form: URLSearchParams): Answer {
    const { clientId, clientSecret } = testCredential;
    if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret) {
      return { status: 401, body: { error: 'invalid_client' } };
    }
    const token = randomUUID();
    this.#tokens.set(token, Date.now() + this.tokenSeconds * 1_000);
    return ok({ access_token: token, token_type: 'Bearer', expires_in: this.tokenSeconds });
  }

  #hello(): Answer {
    this.hellos += 1;
    const { heartbeatSeconds, leaseSeconds, claimWaitSeconds } = this;
    const names = { agentId: randomUUID(), name: 'test', serverVersion: '0' };
    return ok({ protocolVersion: 1, ...names, heartbeatSeconds, leaseSeconds, claimWaitSeconds });
  }

  #lookUp(query: SecretLookup, references: Record<string, SecretCoordinates>): Answer {
    this.secretLookups += 1;
    const work = this.works.get(query.workId);
    const isHeld =
      work?.state === 'held' && work.epoch === query.epoch && work.instanceId === query.instanceId;
    if (!isHeld) return problem(409, 'work-not-held');
    const found = references[query.name];
    return found === undefined ? problem(404, 'secret-reference-not-found') : ok(found);
  }

  #goodbye({ stage }: GoodbyeRequest): Answer {
    this.goodbyes.push(stage);
    this.agentCommand = undefined;
    return ok({ agentStatus: stage });
  }

  async #claims(body: ClaimRequest, request: IncomingMessage): Promise<Answer> {
    const deadline = AbortSignal.timeout(body.waitSeconds * 1_000);
    for (;;) {
      if (request.destroyed && !request.complete) return problem(499, 'gone');
      const commands = [...this.works]
        .filter(([, work]) => work.state === 'held' && work.instanceId === body.instanceId && work.command)
        .map(([workId, work]) => ({ workId, epoch: work.epoch, command: work.command }));
      const work = request.socket.destroyed ? [] : this.#take(body);
      const { agentCommand } = this;
      if (work.length > 0 || commands.length > 0 || agentCommand || deadline.aborted)
        return ok({ work, commands, agentCommand });
      await once(this.#events, 'change', { signal: deadline }).catch(() => undefined);
    }
  }

  #take(body: ClaimRequest): WorkItem[] {
    const queued = [...this.works].filter(([, work]) => work.state === 'queued').slice(0, body.max);
    return queued.map(([workId, work]) => {
      Object.assign(work, { state: 'held', epoch: work.epoch + 1, sequence: 0, instanceId: body.instanceId });
      const leaseExpiresAt = new Date(Date.now() + this.leaseSeconds * 1_000).toISOString();
      return { workId, epoch: work.epoch, kind: 'pipeline-execution', leaseExpiresAt, payload: work.payload };
    });
  }

  #heartbeats(body: HeartbeatRequest): Answer {
    this.heartbeats.push(performance.now());
    const held = body.held.map(({ workId, epoch }) => {
      const work = this.works.get(workId);
      if (work?.state !== 'held' || work.epoch !== epoch) return { workId, epoch, state: 'lost' };
      return { workId, epoch, state: 'held', command: work.command };
    });
    return ok({ held, agentCommand: this.agentCommand });
  }

  #reports(body: ReportsRequest): Answer {
    return ok({ results: body.reports.map((report) => this.#apply(report)) });
  }

  #apply(report: Report) {
    const { workId, epoch, sequence } = report;
    const work = this.works.get(workId);
    const seen = work && sequence <= work.sequence && epoch === work.epoch;
    if (seen) return { workId, accepted: true };
    if (work?.state !== 'held' || work.epoch !== epoch) {
      return { workId, accepted: false, code: work ? 'stale-epoch' : 'work-not-found', detail: 'not yours' };
    }
    if (sequence !== work.sequence + 1) this.violations.push(`sequence ${sequence} after ${work.sequence}`);
    work.sequence = sequence;
    work.reports.push(report.type);
    if (report.type === 'progress') {
      for (const step of report.steps) work.steps.set(step.stepId, step);
      work.lines.push(...(report.lines ?? []));
      work.variables.push(...(report.variables ?? []));
    }
    if (report.type === 'released') Object.assign(work, { state: 'queued', instanceId: undefined });
    if (report.type === 'completed') Object.assign(work, { state: 'ended', outcome: report.outcome });
    return { workId, accepted: true };
  }
}
