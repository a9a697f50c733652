// An answer's Markdown as elements: GitHub's flavour, no raw HTML, no foreign images, safe links only.
// Nothing here knows where the text comes from.
import { isValidElement, memo, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { blocks } from "../blocks";
import { CodeBlock } from "./code_block";

interface HastNode {
  type: string;
  tagName?: string;
  properties?: Record<string, unknown>;
  children?: HastNode[];
}

/** Each block of the text finds its own direction; what is inside follows it. */
function rehypeDirections() {
  return (tree: HastNode): void => {
    for (const node of tree.children ?? []) {
      if (node.type === "element") node.properties = { ...node.properties, dir: "auto" };
    }
  };
}

/** Only whole addresses of the web and of mail; anything else is no link. */
export function safeUrl(url: string): string {
  return /^(https?:\/\/|mailto:)/i.test(url) ? url : "";
}

function Link({ href, children }: { href?: string; children?: ReactNode }) {
  if (!href) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

/** An image of elsewhere would tell its host who reads what: it is a link. */
function Image({ src, alt }: { src?: unknown; alt?: string }) {
  return <Link href={typeof src === "string" ? src : ""}>{alt || "Image"}</Link>;
}

function Pre({ children }: { children?: ReactNode }) {
  if (!isValidElement<{ className?: string; children?: ReactNode }>(children)) return <pre>{children}</pre>;
  const language = /language-(\S+)/.exec(children.props.className ?? "")?.[1] ?? "";
  return <CodeBlock language={language} code={String(children.props.children ?? "").replace(/\n$/, "")} />;
}

const COMPONENTS: Components = {
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  img: ({ src, alt }) => <Image src={src} alt={alt} />,
  pre: ({ children }) => <Pre>{children}</Pre>,
  code: ({ children, className }) => (
    <code dir="ltr" className={className}>
      {children}
    </code>
  ),
  table: ({ children }) => (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Table">
      <table dir="auto">{children}</table>
    </div>
  ),
};

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <ReactMarkdown
      remarkPlugins={[remarkGfm]}
      rehypePlugins={[rehypeDirections]}
      components={COMPONENTS}
      urlTransform={safeUrl}
    >
      {text}
    </ReactMarkdown>
  );
});

/** The text of an answer; while it `isGrowing`, only its last block is parsed anew. */
export const Markdown = memo(function Markdown({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const pieces = isGrowing ? blocks(text) : [text];
  return (
    <div className={isGrowing ? "markdown growing" : "markdown"}>
      {pieces.map((piece, index) => (
        <Block key={index} text={piece} />
      ))}
    </div>
  );
});
