"""What the pages of both programs are made of: templates, style sheets, scripts. No route and no data.

- `rendering`: templates to HTML, escaped; what a page may load (`CONTENT_SECURITY_POLICY`);
- `templates/`: the frame that all pages share, and parts that both programs show;
- `static/`: served under `/assets/`. `vendored/` holds other people's work, unchanged, with its licences.

A program's own pages lie in its own room (`cloud_service.pages`, `hospital_agent.pages`) with their own `templates/`.
Every word of theirs is in `shared.texts`. Nothing is loaded from another host, and there is nothing to build.
"""
