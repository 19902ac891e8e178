/**
 * A request may get its response before its body is read, for example a refused upload. Many clients send
 * the whole body before they read. If the server closed the connection, they would see a reset instead of
 * the response. So the server keeps reading and discards the data, within limits (docs/adr/0032).
 *
 * Terminology
 *   drain  read and discard the rest of a request that has its response
 */
import { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

export interface DrainBounds {
  bytes: number;
  milliseconds: number;
  /** The limit once the server stops. */
  stoppingMilliseconds: number;
  /** Above this number the oldest drain is cut, so that clients cannot hold thousands of connections. */
  atOnce: number;
}

/** Drains are shorter during the shutdown, which waits at most 25 s for the HTTP server. */
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
   * For a connection whose bytes cannot be parsed. Returns false if they may get a response. Returns true
   * if they belong to a request that has its response, or follow one that waits for its own: a second
   * response would be taken for that one. The connection then ends after the pending responses.
   */
  endAfterAnswers(connection: Duplex): boolean;
}

export function createUnreadBodies(stopping: AbortSignal, bounds: DrainBounds = drainBounds): UnreadBodies {
  /** By connection, oldest first; the value cuts the drain. */
  const drains = new Map<Duplex, () => void>();
  const takeTurns = createTurns();
  /** By connection, the last response that is not sent or whose request is not read completely. */
  const pending = new WeakMap<Duplex, ServerResponse>();
  /** These connections end after the pending responses. */
  const unparsable = new WeakSet<Duplex>();

  function finishResponse(response: ServerResponse): void {
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
    // A response gets the connection when all earlier ones are written.
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
    // Node calls this after a response with `Connection: close`. While the client sends, end only this side
    // of the connection.
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
    // The previous reader may have paused it.
    request.resume();
    // At the end of the request, or of the connection.
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
      ServerResponse: createResponseClass(
        (response) => pending.set(response.req.socket, response),
        finishResponse,
      ),
    },
    endAfterAnswers,
  };
}

/**
 * Node reads a connection as fast as bytes arrive. Drains that used up their turn wait, so that other
 * requests are served.
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

function createResponseClass(
  begun: (response: ServerResponse) => void,
  sent: (response: ServerResponse) => void,
): typeof ServerResponse {
  class Response extends ServerResponse<Request> {
    constructor(...parameters: ConstructorParameters<typeof ServerResponse<Request>>) {
      super(...parameters);
      begun(this);
      // Must be the first listener: Node's own closes the connection or starts the next request.
      this.once('finish', () => sent(this));
    }

    /**
     * Node calls this for a request with `Expect: 100-continue`. The client is asked for its body only when
     * something reads it, so an early refusal spares the body (RFC 9110 §10.1.1).
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
