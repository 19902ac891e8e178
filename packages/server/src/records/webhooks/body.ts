/**
 * The bodies of deliveries. `json` is the event, in the scheme of Standard Webhooks. `slack` and `teams` are messages
 * for people, without markup, so that no name of a tenant makes a link, a mention or bold text.
 *
 * `openlineage` is the lineage event that the log event has in its state, for receivers such as Marquez.
 *
 * Slack: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks,
 *   https://docs.slack.dev/messaging/formatting-message-text#escaping. A text of more than 40,000 characters is cut.
 * Teams: https://learn.microsoft.com/connectors/teams/#microsoft-teams-webhook, at most 28 KB. Adaptive Cards 1.2
 *   have RichTextBlock, whose text is not Markdown, unlike that of TextBlock and FactSet.
 */
import type { AccountEventItem, WebhookFormat } from '@headgate/contract';
import { renderLine } from '../../kernel/one-line.ts';
import { type LineageRecord, renderOtherEvent, renderRunEvent } from '../lineage/index.ts';

/** Together fewer than 40,000 characters, escaped for Slack, and 28 KB of any characters. */
const longestTitle = 300;
const longestName = 100;
const longestValue = 300;
const mostFacts = 12;

type Fact = readonly [name: string, value: string];

const renderers: Readonly<Record<WebhookFormat, (event: AccountEventItem, scheme: string) => object>> = {
  openlineage: renderLineage,
  json: (event) => ({ type: event.eventName, timestamp: event.eventTimestamp, data: event }),
  slack: (event) => ({
    text: escapeSlack([renderTitle(event), ...listFacts(event).map(renderFact)].join('\n')),
    mrkdwn: false,
    unfurl_links: false,
    unfurl_media: false,
  }),
  teams: (event) => ({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: renderCard(event),
      },
    ],
  }),
};

/** @param lineageScheme of the namespaces of jobs in OpenLineage events */
export function renderBody(format: WebhookFormat, event: AccountEventItem, lineageScheme: string): string {
  return JSON.stringify(renderers[format](event, lineageScheme));
}

function renderLineage(event: AccountEventItem, scheme: string): object {
  if (event.eventName === 'lineage-recorded')
    return renderRunEvent(scheme, event.additionalInfo.after as LineageRecord);
  return renderOtherEvent(scheme, {
    name: event.eventName,
    runId: event.eventId,
    eventTime: event.eventTimestamp,
  });
}

const renderTitle = (event: AccountEventItem) => renderLine(event.eventDescription, longestTitle);

const renderFact = ([name, value]: Fact) => `${name}: ${value}`;

/** Slack reads commands such as `<!channel>` between these characters, and no others have to be escaped. */
const escapeSlack = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function renderCard(event: AccountEventItem): object {
  return {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [
      renderBlock([{ type: 'TextRun', text: renderTitle(event), weight: 'Bolder' }]),
      ...listFacts(event).map((fact) => renderBlock([{ type: 'TextRun', text: renderFact(fact) }])),
    ],
  };
}

const renderBlock = (inlines: readonly object[]) => ({ type: 'RichTextBlock', inlines });

/** What the event says in single values: its place, its cause, and the state that it led to. */
function listFacts(event: AccountEventItem): Fact[] {
  const { after } = event.additionalInfo;
  const states = Object.entries(Object(after) as object).filter(([, value]) => isSingle(value));
  const facts: [string, unknown][] = [
    ['project', event.eventProjectId],
    ['environment', event.eventEnvironmentName],
    ['by', event.actorName ?? `${event.eventSource} ${event.actorId}`],
    ['time', event.eventTimestamp],
    ...states,
    ['event', event.eventId],
  ];
  return facts
    .filter(([, value]) => value !== undefined && value !== '')
    .slice(0, mostFacts)
    .map(([name, value]) => [renderLine(name, longestName), renderLine(String(value), longestValue)]);
}

const isSingle = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value);
