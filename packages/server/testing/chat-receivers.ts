/**
 * Receivers that refuse what Slack and Microsoft Teams refuse, and note what these would show otherwise than it was
 * written. What a delivery breaks is in `faults`, which a test must find empty.
 */
import type { ServerResponse } from 'node:http';
import type { ReceivedDelivery, Receiver } from './webhook-receiver.ts';

export interface ChatReceiver {
  faults: string[];
  /** The texts of the messages, as people read them. */
  shown: string[];
}

type Refusal = { status: number; body: string };
type Read = (delivery: ReceivedDelivery, chat: ChatReceiver) => Refusal | string;

function receive(receiver: Receiver, read: Read, accepted: Refusal): ChatReceiver {
  const chat: ChatReceiver = { faults: [], shown: [] };
  receiver.answer = (response: ServerResponse, delivery) => {
    const result = read(delivery, chat);
    const { status, body } = typeof result === 'string' ? accepted : result;
    if (typeof result === 'string') chat.shown.push(result);
    else chat.faults.push(`${status} ${body}`);
    response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
  };
  return chat;
}

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors */
export const playSlack = (receiver: Receiver) => receive(receiver, readSlack, { status: 200, body: 'ok' });

const readSlack: Read = ({ headers, body }, { faults }) => {
  const message = readObject(body);
  if (message === undefined || headers['content-type'] !== 'application/json')
    return { status: 400, body: 'invalid_payload' };
  const { text } = message;
  if (typeof text !== 'string' || text.trim() === '') return { status: 400, body: 'no_text' };
  if (text.length > 40_000) faults.push('the text would be cut');
  const commands = text.match(/<[^>]*>/g);
  if (commands !== null) faults.push(`the text has commands: ${commands.join(', ')}`);
  if (/&(?!amp;|lt;|gt;)/.test(text)) faults.push('the text has an & that is not escaped');
  if (message.mrkdwn !== false) faults.push('the text is read as markup');
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
};

/** A workflow "Post to a channel when a webhook request is received", which takes cards only. */
export const playTeams = (receiver: Receiver) => receive(receiver, readTeams, { status: 202, body: '' });

interface Card {
  type?: unknown;
  version?: unknown;
  body?: { type?: unknown; inlines?: { type?: unknown; text?: unknown }[] }[];
}

const readTeams: Read = ({ headers, body }, { faults }) => {
  if (Buffer.byteLength(body) > 28 * 1_024) return { status: 413, body: 'the message is too large' };
  const message = readObject(body) as { type?: unknown; attachments?: unknown } | undefined;
  if (message === undefined || headers['content-type'] !== 'application/json')
    return { status: 400, body: 'TriggerInputSchemaMismatch' };
  if (message.type !== 'message' || !Array.isArray(message.attachments) || message.attachments.length !== 1)
    return { status: 400, body: 'TriggerInputSchemaMismatch: attachments is required' };
  const [attachment] = message.attachments as { contentType?: unknown; content?: Card }[];
  const { contentType, content } = attachment ?? {};
  if (contentType !== 'application/vnd.microsoft.card.adaptive' || content?.type !== 'AdaptiveCard')
    return { status: 400, body: 'the attachment is no adaptive card' };
  if (content.version !== '1.2') faults.push('the version of the card is unknown to this receiver');
  const blocks = content.body ?? [];
  // Markdown, of which the names of a tenant could be a part.
  if (blocks.length === 0 || blocks.some(({ type }) => type !== 'RichTextBlock'))
    faults.push('the card has a block that reads Markdown, or none');
  const inlines = blocks.map((block) => block.inlines ?? []);
  if (inlines.flat().some(({ type, text }) => type !== 'TextRun' || typeof text !== 'string'))
    faults.push('the card has an inline that is no text');
  return inlines.map((runs) => runs.map(({ text }) => text).join('')).join('\n');
};

function readObject(body: string): Record<string, unknown> | undefined {
  const value: unknown = JSON.parse(body);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
