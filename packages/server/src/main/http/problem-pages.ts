/** `/problems/{type}`: the page for the `type` of a problem, as HTML for people and JSON for programs. */
import {
  type ProblemCode,
  type ProblemStatus,
  problemMeanings,
  problems,
  problemTypeName,
  statusTitles,
} from '@headgate/contract';
import type { FastifyInstance } from 'fastify';
import { prefersHtml } from '../../kernel/http/accept.ts';
import { problem } from '../../kernel/http/problems.ts';

interface ProblemType {
  type: string;
  title: string;
  status: number;
  codes: { code: string; when: string }[];
}

export function serveProblemPages(app: FastifyInstance, typeBase: string): void {
  const types = Object.keys(statusTitles).map((key) => describe(Number(key) as ProblemStatus, typeBase));
  const byName = new Map(types.map((type) => [type.type.slice(typeBase.length + 1), type]));

  app.get('/problems', (request, reply) => {
    reply.header('vary', 'Accept');
    if (!prefersHtml(request.headers.accept)) return types;
    const items = types.map(({ type, status, title }) =>
      renderItem(`<a href="${escapeText(type)}">${status} ${title}</a>`),
    );
    return reply.header('content-type', htmlType).send(renderPage('Problems', renderList(items)));
  });

  app.get('/problems/:name', (request, reply) => {
    const { name } = request.params as { name: string };
    const found = byName.get(name);
    if (found === undefined) throw problem('path-not-found', { nearest: undefined });
    reply.header('vary', 'Accept');
    if (!prefersHtml(request.headers.accept)) return found;
    const items = found.codes.map(({ code, when }) =>
      renderItem(`<code>${code}</code>: ${escapeText(when)}`, ` id="${code}"`),
    );
    const intro = '<p>The member <code>code</code> of the problem is one of:</p>\n';
    return reply
      .header('content-type', htmlType)
      .send(renderPage(`${found.status} ${found.title}`, intro + renderList(items)));
  });
}

function describe(status: ProblemStatus, typeBase: string): ProblemType {
  const codes = (Object.keys(problems) as ProblemCode[]).filter((code) => problems[code].status === status);
  return {
    type: `${typeBase}/${problemTypeName(status)}`,
    title: statusTitles[status],
    status,
    codes: codes.map((code) => ({ code, when: problemMeanings[code] })),
  };
}

const htmlType = 'text/html; charset=utf-8';
const renderList = (items: readonly string[]) => `<ul>\n${items.join('\n')}\n</ul>\n`;
const renderItem = (html: string, attribute = '') => `<li${attribute}>${html}</li>`;

function renderPage(title: string, body: string): string {
  return `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>${title}</title>\n<h1>${title}</h1>\n${body}</html>\n`;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
