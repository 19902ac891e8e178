/** `/problems/{type}`: what the `type` of a problem leads to, a page for people and data for programs. */
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

export function problemPages(app: FastifyInstance, typeBase: string): void {
  const types = Object.keys(statusTitles).map((key) => describe(Number(key) as ProblemStatus, typeBase));
  const byName = new Map(types.map((type) => [type.type.slice(typeBase.length + 1), type]));

  app.get('/problems', (request, reply) => {
    reply.header('vary', 'Accept');
    if (!prefersHtml(request.headers.accept)) return types;
    const items = types.map(({ type, status, title }) =>
      item(`<a href="${escaped(type)}">${status} ${title}</a>`),
    );
    return reply.header('content-type', htmlType).send(page('Problems', list(items)));
  });

  app.get('/problems/:name', (request, reply) => {
    const { name } = request.params as { name: string };
    const found = byName.get(name);
    if (found === undefined) throw problem('path-not-found', { nearest: undefined });
    reply.header('vary', 'Accept');
    if (!prefersHtml(request.headers.accept)) return found;
    const items = found.codes.map(({ code, when }) =>
      item(`<code>${code}</code>: ${escaped(when)}`, ` id="${code}"`),
    );
    const intro = '<p>The member <code>code</code> of the problem says which:</p>\n';
    return reply
      .header('content-type', htmlType)
      .send(page(`${found.status} ${found.title}`, intro + list(items)));
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
const list = (items: readonly string[]) => `<ul>\n${items.join('\n')}\n</ul>\n`;
const item = (html: string, attribute = '') => `<li${attribute}>${html}</li>`;

function page(title: string, body: string): string {
  return `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>${title}</title>\n<h1>${title}</h1>\n${body}</html>\n`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
