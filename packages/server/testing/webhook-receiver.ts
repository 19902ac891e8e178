/** A receiver of webhooks on loopback. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AccountEventItem } from '@headgate/contract';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';

export interface ReceivedDelivery {
  /** `webhook-id`. */
  id: string;
  headers: Record<string, string>;
  body: string;
  event: { type: string; timestamp: string; data: AccountEventItem };
}

export interface Receiver {
  url: string;
  received: ReceivedDelivery[];
  /** The status of the next responses, or what to do with them. */
  answer: number | ((response: ServerResponse, delivery: ReceivedDelivery) => void);
  close(): Promise<void>;
}

/** Starts a receiver that answers 204. */
export async function startReceiver(): Promise<Receiver> {
  const receiver: Receiver = { url: '', received: [], answer: 204, close: async () => undefined };
  const listening = await listenOnLoopback(async (request, response) => {
    const delivery = await readDelivery(request);
    receiver.received.push(delivery);
    if (typeof receiver.answer === 'function') receiver.answer(response, delivery);
    else response.writeHead(receiver.answer).end();
  });
  receiver.url = `${listening.origin}/hook`;
  receiver.close = listening.close;
  return receiver;
}

async function readDelivery(request: IncomingMessage): Promise<ReceivedDelivery> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString('utf8');
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  return { id: headers['webhook-id'] ?? '', headers, body, event: JSON.parse(body) };
}
