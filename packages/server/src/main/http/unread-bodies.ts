/**
 * A request may be answered before its body was read: an upload that is refused, for instance. Many clients
 * send all of it before they read. If the connection were closed meanwhile, they would see a reset in place
 * of the answer. So the server goes on reading and discards what comes, within bounds (decisions.md E10,
 * docs/adr/0032).
 *
 * Terminology
 *   drain  reading and discarding the rest of a request that has been answered
 */
import { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

export interface DrainBounds {
  bytes: number;
  milliseconds: number;
  /** Once the server stops. */
  stoppingMilliseconds: number;
  /** Beyond it the oldest is cut, so that connections cannot be held by the thousands. */
  atOnce: number;
}

/** decisions.md E10. The shutdown waits 25 s at most for the HTTP server, so drains are shorter by then. */
const drainBounds: DrainBounds = {
  bytes: 64 * 1_048_576,
  milliseconds: 30_000,
  stoppingMilliseconds: 5_000,
  atOnce: 1_000,
};

const turnMilliseconds = 3;

export interface UnreadBodies {
  /** Options of `createServer`. */
  classes: { IncomingMessage: typeof IncomingMessage; ServerResponse: typeof ServerResponse };
  /**
   * For a connection whose bytes cannot be parsed. False: they may be answered. True: they belong to a request that has an answer, or follow one
   * that waits for its own; a second answer would be taken for that. The connection ends once the answers under way are sent.
   */
  endAfterAnswers(connection: Duplex): boolean;
}

export function createUnreadBodies(stopping: AbortSignal, bounds: DrainBounds = drainBounds): UnreadBodies {
  /** By connection, the oldest first; the value cuts it. */
  const drains = new Map<Duplex, () => void>();
  const takeTurns = createTurns();
  /** By connection, the last response whose request is not read to its end, or that is not sent. */
  const pending = new WeakMap<Duplex, ServerResponse>();
  /** They end after the answers under way. */
  const unparsable = new WeakSet<Duplex>();

  function sent(response: ServerResponse): void {
    const { req } = response;
    const { socket } = req;
    if (unparsable.has(socket)) {
      if (pending.get(socket) === response) socket.destroySoon();
    } else if (!req.complete) drain(req);
    else if (pending.get(socket) === response) pending.delete(socket);
  }

  function endAfterAnswers(connection: Duplex): boolean {
    const response = pending.get(connection);
    if (response === undefined) return false;
    const { req, headersSent, writableEnded, socket } = response;
    // A response has the connection only once all before it are written.
    const isWritten = writableEnded && socket === connection;
    if (req.complete ? isWritten : !headersSent) return false;
    unparsable.add(connection);
    drains.get(connection)?.();
    return true;
  }

  function drain(request: IncomingMessage): void {
    const { socket } = request;
    const { destroySoon } = socket;
    let left = bounds.bytes;
    let isEnding = stopping.aborted;
    // Node calls this after an answer with `Connection: close`. As long as the client sends, only this side
    // of the connection is ended.
    socket.destroySoon = () => {
      isEnding = true;
      socket.end();
    };
    const cut = () => {
      drains.delete(socket);
      socket.destroy();
    };
    const bound = stopping.aborted ? bounds.stoppingMilliseconds : bounds.milliseconds;
    const timer = setTimeout(cut, bound).unref();
    drains.set(socket, cut);
    request.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) cut();
      else takeTurns(request);
    });
    // What read it before may have paused it.
    request.resume();
    // After its end, or with the connection.
    request.once('close', () => {
      clearTimeout(timer);
      drains.delete(socket);
      pending.delete(socket);
      socket.destroySoon = destroySoon;
      if (isEnding || stopping.aborted) socket.destroySoon();
    });
    if (drains.size > bounds.atOnce) drains.values().next().value?.();
  }

  const cutAll = () => {
    for (const cut of drains.values()) cut();
  };
  stopping.addEventListener('abort', () => setTimeout(cutAll, bounds.stoppingMilliseconds).unref());

  return {
    classes: {
      IncomingMessage: Request,
      ServerResponse: responseThat((response) => pending.set(response.req.socket, response), sent),
    },
    endAfterAnswers,
  };
}

/**
 * Node reads a connection as fast as its bytes come. When drains have used up their turn they wait, so that
 * other requests are served.
 */
function createTurns(): (request: IncomingMessage) => void {
  const waiting: IncomingMessage[] = [];
  let turnEnds = 0;

  function nextTurn(): void {
    turnEnds = performance.now() + turnMilliseconds;
    for (const request of waiting.splice(0)) request.resume();
  }

  return (request) => {
    if (performance.now() < turnEnds) return;
    request.pause();
    if (waiting.push(request) === 1) setImmediate(nextTurn);
  };
}

class Request extends IncomingMessage {
  /** Called before the body is read. */
  whenRead: (() => void) | undefined;

  override _read(size: number): void {
    this.whenRead?.();
    super._read(size);
  }
}

function responseThat(
  begun: (response: ServerResponse) => void,
  sent: (response: ServerResponse) => void,
): typeof ServerResponse {
  class Response extends ServerResponse<Request> {
    constructor(...parameters: ConstructorParameters<typeof ServerResponse<Request>>) {
      super(...parameters);
      begun(this);
      // The first listener: Node's own closes the connection, or goes on to the next request.
      this.once('finish', () => sent(this));
    }

    /**
     * Node calls this at the head of a request with `Expect: 100-continue`. The client is asked for its body
     * when something begins to read it, so that a request that is refused before is answered without (RFC
     * 9110 §10.1.1).
     */
    override writeContinue(done?: () => void): void {
      this.req.whenRead = () => {
        this.req.whenRead = undefined;
        if (!this.headersSent) super.writeContinue(done);
      };
    }
  }
  return Response as unknown as typeof ServerResponse;
}
