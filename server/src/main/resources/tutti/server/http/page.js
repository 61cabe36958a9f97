// The cluster, as the node that serves this page sees it: asks /cluster every two seconds, and draws. Whatever comes is shown as text, never as
// markup. With the node's token it also asks /activity.
'use strict';

const PERIOD_MS = 2000;
const COLOURS = 7;
const SVG = 'http://www.w3.org/2000/svg';
const $ = id => document.getElementById(id);

let paused = false;
let chosen = null;      // id of the node whose row has the focus
let token = sessionStorage.getItem('token');
let cluster = null;
let heard = 0;

function element(name, attributes, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const number = value => value.toLocaleString('en', {maximumFractionDigits: value < 10 ? 1 : 0});
const millis = value => value === 0 ? '–' : number(value) + ' ms';
const bytes = value => value >= 1 << 30 ? number(value / (1 << 30)) + ' GiB' : number(value / (1 << 20)) + ' MiB';
const clock = time => new Date(time).toLocaleTimeString('en-GB');
const colour = index => index % COLOURS;

function duration(seconds) {
  if (seconds < 120) return seconds + ' s';
  if (seconds < 7200) return Math.floor(seconds / 60) + ' min';
  return seconds < 172800 ? Math.floor(seconds / 3600) + ' h' : Math.floor(seconds / 86400) + ' d';
}

function mood(state) {
  return state === 'READY' ? 'good' : state === 'ISOLATED' || state === 'RECOVERING' || state === 'STARTING' ? 'soso' : 'bad';
}

function fill(body, rows) {
  body.replaceChildren(...rows);
}

function cells(...values) {
  return values.map(value => value instanceof Node ? element('td', {}, value) : element('td', {}, String(value)));
}

function showNodes() {
  const focused = document.activeElement.dataset.node !== undefined;
  const leaders = new Set(cluster.nodes.filter(node => node.told).map(node => node.told.status.leader));
  if (!cluster.nodes.some(node => String(node.id) === chosen)) chosen = String(cluster.by);
  fill($('nodes').tBodies[0], cluster.nodes.map((node, index) => {
    const name = element('span', {}, element('span', {class: 'key b' + colour(index), 'aria-hidden': 'true'}));
    const address = node.http && node.id !== cluster.by ? element('a', {href: 'http://' + node.http + '/', tabindex: '-1'}, node.name)
        : document.createTextNode(node.name);
    name.append(address);
    if (leaders.has(node.id)) name.append(element('span', {class: 'dim'}, ' leads'));
    const row = element('tr', {tabindex: String(node.id) === chosen ? '0' : '-1', 'data-node': node.id});
    if (!node.told) {
      row.append(...cells(name, element('span', {class: 'bad'}, 'silent')), element('td', {colspan: '10'}, node.silence));
      return row;
    }
    const status = node.told.status;
    const last = node.told.samples.at(-1) || {commits: 0, aborts: 0, median: 0, worst: 0};
    row.append(...cells(name, element('span', {class: mood(status.state)}, status.state.toLowerCase()), number(last.commits),
        number(last.aborts), millis(last.median), millis(last.worst), number(status.positions.lag), number(status.sessions),
        number(status.inFlight), bytes(status.order.logBytes), bytes(status.heapUsedBytes), duration(status.uptimeSeconds)));
    return row;
  }));
  if (focused) focusRow(chosen);
  const picked = cluster.nodes.find(node => String(node.id) === chosen);
  const status = picked.told && picked.told.status;
  $('detail').textContent = picked.name + ': ' + (status
      ? (status.reason ? status.reason + '; ' : '') + 'Tutti ' + status.version + ', ' + status.database + ', clients at ' + status.sql
          + ', position ' + number(status.positions.applied) + ' of ' + number(status.positions.known)
          + (status.secondaries ? ', secondaries ' + status.secondaries.secondaries.length + ' (dropped ' + status.secondaries.dropped + ')' : '')
      : picked.silence);
}

function focusRow(id) {
  const row = document.querySelector('#nodes tr[data-node="' + CSS.escape(id) + '"]');
  if (row) row.focus();
}

// A line for each node over the last two minutes.
function chart(into, label, value) {
  const width = 420, height = 130, left = 44, bottom = 16;
  const told = cluster.nodes.map((node, index) => ({index, samples: node.told ? node.told.samples : []}));
  const end = Math.max(0, ...told.flatMap(node => node.samples.map(sample => sample.time)));
  const top = Math.max(1, ...told.flatMap(node => node.samples.map(value)));
  const svg = drawn('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label});
  const y = amount => (height - bottom) - amount / top * (height - bottom - 8);
  for (const part of [0, 0.5, 1]) {
    svg.append(drawn('line', {class: 'grid', x1: left, x2: width, y1: y(part * top), y2: y(part * top)}),
        drawn('text', {x: left - 6, y: y(part * top) + 4, 'text-anchor': 'end'}, number(part * top)));
  }
  svg.append(drawn('text', {x: left, y: height - 2}, 'two minutes ago'), drawn('text', {x: width, y: height - 2, 'text-anchor': 'end'}, 'now'));
  for (const node of told) {
    if (node.samples.length === 0) continue;
    const points = node.samples.filter(sample => end - sample.time <= 120000)
        .map(sample => (left + (1 - (end - sample.time) / 120000) * (width - left)).toFixed(1) + ' ' + y(value(sample)).toFixed(1));
    svg.append(drawn('path', {class: 'c' + colour(node.index), d: 'M' + points.join('L')}));
  }
  $(into).replaceChildren(svg);
}

// The nodes in a circle; a line where both reach each other, a broken one where one does not.
function showTopology() {
  const width = 420, height = 190, nodes = cluster.nodes;
  const svg = drawn('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img'});
  const place = index => {
    const angle = 2 * Math.PI * index / nodes.length - Math.PI / 2;
    return [width / 2 + 130 * Math.cos(angle), height / 2 + 62 * Math.sin(angle)];
  };
  const reaches = (from, to) => !from.told || from.told.status.members.some(member => member.id === to.id && member.reachable);
  const cut = [];
  nodes.forEach((one, i) => nodes.slice(i + 1).forEach((other, k) => {
    const whole = reaches(one, other) && reaches(other, one) && Boolean(one.told || other.told);
    if (!whole) cut.push(one.name + '–' + other.name);
    const [x1, y1] = place(i), [x2, y2] = place(i + k + 1);
    svg.append(drawn('line', {class: whole ? 'link' : 'cut', x1, y1, x2, y2}));
  }));
  nodes.forEach((node, index) => {
    const [cx, cy] = place(index);
    svg.append(drawn('rect', {x: cx - 48, y: cy - 14, width: 96, height: 28, rx: 8, class: 'c' + colour(index),
      'stroke-width': node.told ? 2.5 : 1, fill: 'var(--ground)'}), drawn('text', {class: 'name', x: cx, y: cy + 5}, node.name.length > 13 ? node.name.slice(0, 12) + '…' : node.name));
  });
  svg.setAttribute('aria-label', cut.length ? 'cut: ' + cut.join(', ') : 'all nodes reach each other');
  $('topology').replaceChildren(svg);
}

function showAborts() {
  const causes = new Map();
  for (const node of cluster.nodes) {
    for (const [cause, count] of Object.entries(node.told ? node.told.status.aborted : {})) {
      causes.set(cause, (causes.get(cause) || 0) + count);
    }
  }
  const sorted = [...causes].sort((one, other) => other[1] - one[1]);
  fill($('aborts').tBodies[0], sorted.length ? sorted.map(([cause, count]) => element('tr', {}, ...cells(cause, number(count))))
      : [element('tr', {}, element('td', {}, 'none'))]);
}

function showEvents() {
  const all = cluster.nodes.flatMap(node => (node.told ? node.told.events : []).map(event => ({...event, node: node.name})));
  all.sort((one, other) => other.time - one.time);
  fill($('events'), all.slice(0, 60).map(event => element('li', {},
      element('time', {datetime: new Date(event.time).toISOString()}, clock(event.time)), event.node + ': ' + event.text)));
}

function showSummary() {
  const told = cluster.nodes.filter(node => node.told);
  const ready = told.filter(node => node.told.status.state === 'READY').length;
  const commits = told.reduce((sum, node) => sum + ((node.told.samples.at(-1) || {}).commits || 0), 0);
  const own = told.find(node => node.id === cluster.by).told.status;
  document.title = ready + '/' + cluster.nodes.length + ' ' + own.cluster;
  $('title').textContent = own.cluster;
  $('summary').replaceChildren(element('span', {class: ready === cluster.nodes.length ? 'good' : 'bad'},
      ready + ' of ' + cluster.nodes.length + ' nodes ready'), ', ' + number(commits) + ' commits/s, protocol ' + own.protocol
      + (paused ? ', paused' : ''));
}

function show() {
  showSummary();
  showNodes();
  chart('commits', 'commits per second of each node', sample => sample.commits);
  chart('latency', 'commit latency of each node in milliseconds, 99 of 100', sample => sample.worst);
  chart('lag', 'lag of each node in positions', sample => sample.lag);
  showTopology();
  showAborts();
  showEvents();
}

async function showActivity() {
  if (!token) return;
  const answer = await fetch('activity', {headers: {Authorization: 'Bearer ' + token}, cache: 'no-store'});
  if (!answer.ok) {
    $('refused').textContent = answer.status === 401 ? 'That is not the token of this node.' : 'The node answers ' + answer.status + '.';
    token = null;
    sessionStorage.removeItem('token');
    $('asking').hidden = false;
    $('activity').hidden = true;
    return;
  }
  const seen = await answer.json();
  sessionStorage.setItem('token', token);
  $('asking').hidden = true;
  $('activity').hidden = false;
  fill($('statements').tBodies[0], seen.statements.length
      ? seen.statements.map(each => element('tr', {}, ...cells(millis(each.worstMillis), number(each.times), each.text)))
      : [element('tr', {}, element('td', {colspan: '3'}, 'none'))]);
  fill($('losses').tBodies[0], seen.losses.length
      ? seen.losses.map(each => element('tr', {}, ...cells(clock(each.time), each.sqlState + (each.repeated ? ', run again' : ''),
          each.detail || each.message, each.statement)))
      : [element('tr', {}, element('td', {colspan: '4'}, 'none'))]);
}

async function ask() {
  if (paused || document.hidden) return;
  try {
    const answer = await fetch('cluster', {cache: 'no-store'});
    if (!answer.ok) throw new Error(await answer.text());
    cluster = await answer.json();
    heard = Date.now();
    show();
    await showActivity();
  } catch (failed) {
    const since = heard ? ' since ' + clock(heard) : '';
    $('summary').replaceChildren(element('span', {class: 'bad'}, 'This node has not answered' + since));
  }
}

function pause() {
  paused = !paused;
  $('pause').setAttribute('aria-pressed', String(paused));
  $('pause').textContent = paused ? 'Go on' : 'Pause';
  if (cluster) showSummary();
  ask();
}

function choose(step) {
  if (!cluster) return;
  const ids = cluster.nodes.map(node => String(node.id));
  const at = ids.indexOf(chosen) + (document.activeElement.dataset.node === undefined ? 0 : step);
  chosen = ids[Math.max(0, Math.min(ids.length - 1, at))];
  showNodes();
  focusRow(chosen);
}

document.addEventListener('keydown', event => {
  if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
  const node = cluster && event.target.dataset && cluster.nodes.find(each => String(each.id) === event.target.dataset.node);
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') choose(event.key === 'ArrowDown' ? 1 : -1);
  else if (event.key === 'p') pause();
  else if (event.key === 't') $('token').focus();
  else if (event.key === 'Enter' && node && node.http && node.id !== cluster.by) location.href = 'http://' + node.http + '/';
  else return;
  event.preventDefault();
});
$('nodes').addEventListener('focusin', event => {
  const row = event.target.closest('tr[data-node]');
  if (row && row.dataset.node !== chosen) {
    chosen = row.dataset.node;
    showNodes();
  }
});
$('pause').addEventListener('click', pause);
$('asking').addEventListener('submit', event => {
  event.preventDefault();
  token = $('token').value.trim();
  $('token').value = '';
  $('refused').textContent = '';
  showActivity();
});
document.addEventListener('visibilitychange', ask);
setInterval(ask, PERIOD_MS);
ask();
