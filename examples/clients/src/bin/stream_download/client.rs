use http_retry::RetryPolicy;
use http_retry::reqwest::{RetryMiddleware, build};
use reqwest::Url;
use reqwest::redirect::Policy;
use std::error::Error;
use stream_download::http::HttpStream;
use stream_download::storage::temp::TempStorageProvider;
use stream_download::{Settings, StreamDownload};

pub async fn open(url: Url) -> Result<StreamDownload<TempStorageProvider>, Box<dyn Error>> {
    let retries = RetryMiddleware::new(RetryPolicy::background());
    let client = build(reqwest::Client::builder(), Policy::default(), retries)?;
    let stream = HttpStream::new(client.build(), url).await?;
    let storage = TempStorageProvider::new();
    Ok(StreamDownload::from_stream(stream, storage, Settings::default()).await?)
}
