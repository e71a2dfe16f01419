// Loaded by Node first (NODE_OPTIONS=--require): makes its http and https modules and its fetch use HTTPS_PROXY.
//
//     https.request, http.request   Agent.prototype.createConnection: a CONNECT first, then the original method
//     fetch                         undici's Agent with another connector, created at the first call of fetch
//
// Left alone: runtimes that use the variables without help (Bun, Deno, and a Node with NODE_USE_ENV_PROXY, 22.21 or 24.5, except
// for agents that a program creates), and agents or dispatchers of other classes. It prints nothing and keeps no process alive.
'use strict'

const [major, minor] = process.versions.node.split('.').map(Number)
const able = major > 24 || major === 23 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21)
if (!process.versions.bun && !process.versions.deno) install()

function install () {
  const http = require('node:http')
  const https = require('node:https')
  const net = require('node:net')
  const tls = require('node:tls')
  const DISPATCHER = Symbol.for('undici.globalDispatcher.1')

  function proxyFor (secure, host, port) { // a URL, or undefined for a direct connection
    const env = process.env
    const url = secure ? env.https_proxy || env.HTTPS_PROXY : env.http_proxy || env.HTTP_PROXY
    if (!url || !host || excluded(host.toLowerCase().replace(/^\[|\]$/g, ''), port)) return undefined
    try {
      const proxy = new URL(url)
      return proxy.protocol === 'http:' ? proxy : undefined
    } catch {
      return undefined
    }
  }

  function excluded (host, port) {
    const entries = (process.env.no_proxy || process.env.NO_PROXY || '').toLowerCase().split(/[\s,]+/)
    return entries.filter(Boolean).some(entry => {
      const [name, only] = entry.split(':').length === 2 ? entry.split(':') : [entry.replace(/^\[|\]$/g, ''), '']
      const bare = name.replace(/^\*?\./, '')
      return (!only || Number(only) === Number(port)) && (bare === '*' || host === bare || host.endsWith('.' + bare))
    })
  }

  function tunnel (proxy, host, port, done) { // done(error, socket)
    const place = `${net.isIPv6(host) ? `[${host}]` : host}:${port}`
    const headers = { host: place }
    if (proxy.username) {
      const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
      headers['proxy-authorization'] = `Basic ${Buffer.from(user).toString('base64')}`
    }
    const createConnection = () => net.connect(Number(proxy.port) || 80, proxy.hostname.replace(/^\[|\]$/g, ''))
    const request = http.request({ method: 'CONNECT', path: place, headers, createConnection })
    request.once('connect', (response, socket, head) => {
      if (response.statusCode !== 200) {
        socket.destroy()
        done(new Error(`the proxy at ${proxy.host} refused ${place}: ${response.statusCode}`))
        return
      }
      if (head.length) socket.unshift(head)
      done(null, socket)
    })
    request.once('error', done)
    request.end()
  }

  function patch (agent, secure) {
    const connect = agent.prototype.createConnection
    agent.prototype.createConnection = function createConnection (...args) {
      const options = args.find(arg => arg !== null && typeof arg === 'object')
      const done = args.find(arg => typeof arg === 'function')
      const local = !options || !done || options.socket || options.socketPath || this.options?.proxyEnv
      const port = options?.port || (secure ? 443 : 80)
      const host = options?.host || options?.hostname
      const proxy = local ? undefined : proxyFor(secure, host, port)
      if (!proxy) return connect.apply(this, args)
      tunnel(proxy, host, port, (error, socket) => {
        done(error, error || !secure ? socket : connect.call(this, { ...options, socket }))
      })
      return undefined
    }
  }

  patch(http.Agent, false)
  patch(https.Agent, true)

  if (able || typeof globalThis.fetch !== 'function') return
  const plain = globalThis.fetch
  globalThis.fetch = function fetch (...args) {
    if (globalThis.fetch === fetch) globalThis.fetch = plain
    direct()
    return plain.apply(this, args)
  }

  function direct () { // requests without a proxy keep the original dispatcher
    void globalThis.Headers // loads the built-in undici, which creates its dispatcher
    const before = globalThis[DISPATCHER]
    if (before?.constructor?.name !== 'Agent') return
    const options = Object.getOwnPropertySymbols(before).find(symbol => symbol.description === 'options')
    const given = options ? before[options] : {}
    if (typeof given.connect === 'function') return
    class Proxied extends before.constructor {
      dispatch (request, handler) {
        const { protocol, hostname, port } = new URL(request.origin)
        const proxied = proxyFor(protocol === 'https:', hostname, port || (protocol === 'https:' ? 443 : 80))
        return proxied ? super.dispatch(request, handler) : before.dispatch(request, handler)
      }
    }
    globalThis[DISPATCHER] = new Proxied({ ...given, connect: connector(given.connect) })
  }

  function connector (given) { // undici calls this for a new connection
    return (options, done) => {
      const secure = options.protocol === 'https:'
      const host = options.hostname.replace(/^\[|\]$/g, '')
      const port = Number(options.port) || (secure ? 443 : 80)
      tunnel(proxyFor(secure, host, port), host, port, (error, socket) => {
        if (error || !secure) return done(error, socket)
        const servername = options.servername || (net.isIP(host) ? undefined : host)
        const over = tls.connect({ ALPNProtocols: ['http/1.1'], ...given, host, servername, socket })
        over.once('error', done)
        over.once('secureConnect', () => {
          over.off('error', done)
          done(null, over)
        })
        return undefined
      })
    }
  }
}
